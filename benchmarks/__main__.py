"""Measure the claims of benchmarks/claims.toml and write their page: `python -m benchmarks [NAME ...] [--page]`.

Without a name the claims are listed. A name runs its claim's script and appends what the claim rests on to
benchmarks/results.jsonl; the table of docs/evidence/benchmarks.md is made of that file. --page makes the table alone.
"""

from __future__ import annotations

import argparse
import json
import operator
import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from apportion.foundation.did_you_mean import did_you_mean
from benchmarks.measure import ROOT, machine

RESULTS, PAGE = ROOT / "benchmarks" / "results.jsonl", ROOT / "docs" / "evidence" / "benchmarks.md"
BEGIN, END = "<!-- made by python -m benchmarks --page -->\n", "<!-- end of what is made -->\n"
COMPARE = {"<": operator.lt, "<=": operator.le, ">=": operator.ge, "=": operator.eq}
Record = Mapping[str, Any]
"""A line of results.jsonl: of a measurement, or with ``source`` the words of a page that was written by hand."""


@dataclass(frozen=True)
class Claim:
    """A sentence that users read, the script and arguments that measure it, and figures: line, words, bars."""

    claim: str
    command: str
    figures: Sequence[Sequence[str]]

    def held(self, figure: Sequence[str], printed: Mapping[str, Any]) -> bool:
        """Whether the line that a script printed passes every bar of ``figure``."""
        bars = (bar.split() for bar in figure[2:])
        return all(COMPARE[sign](printed[key], float(limit)) for key, sign, limit in bars)

    def record(self, name: str, output: Iterable[str], load: Sequence[float]) -> Record:
        """What is kept of a script's ``output``; ``load``: the machine's load averages before it.

        Raises
        ------
        SystemExit
            A line that the claim rests on was not printed.
        """
        printed = {}
        for line in output:
            if line.startswith("{"):
                found = json.loads(line)
                found.pop("machine", None)
                printed[found.pop("benchmark", "")] = found
        if missing := [line for line, *_ in self.figures if line not in printed]:
            raise SystemExit(f"{name}: {self.command} did not print {missing[0]!r}; nothing is kept")
        figures = {line: printed[line] for line, *_ in self.figures}
        return {
            "claim": name, "command": self.command, "date": date.today().isoformat(), "machine": machine(),
            "load": [round(one, 1) for one in load], "figures": figures,
            "held": all(self.held(figure, figures[figure[0]]) for figure in self.figures),
        }  # fmt: skip

    def cell(self, record: Record) -> str:
        """How the page tells a record."""
        if "source" in record:
            return f"{record['date']}: {record['words']}"
        told = []
        for figure in self.figures:
            printed = record["figures"][figure[0]]
            told.append(figure[1].format(**printed) + ("" if self.held(figure, printed) else " (**not held**)"))
        return f"{record['date']}, load {record['load'][0]:.0f}: {'; '.join(told)}"


with (ROOT / "benchmarks" / "claims.toml").open("rb") as claims:
    CLAIMS = {name: Claim(**told) for name, told in tomllib.load(claims).items()}


def table(records: Sequence[Record]) -> str:
    """A row a claim: its newest record and, where that is not held, the newest one that was."""
    rows = ["| claim | command | measured |", "|---|---|---|"]
    for name, claim in CLAIMS.items():
        own = [record for record in reversed(records) if record["claim"] == name]
        held = [record for record in own if record["held"]]
        shown = own[:1] if own[:1] == held[:1] else own[:1] + held[:1]
        cell = "<br>".join(map(claim.cell, shown)) or "not measured"
        rows.append(f"| {claim.claim} | `python -m benchmarks {name}` | {cell} |")
    return "\n".join(rows) + "\n"


def records() -> list[Record]:
    """All records, the oldest first."""
    return [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]


def write_page() -> None:
    """Replace what stands between the marks of the page by the table."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table(records())}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def output_of(command: str) -> list[str]:
    """The lines that a script of this folder prints, which are printed here too.

    Raises
    ------
    SystemExit
        The script failed.
    """
    script, *arguments = shlex.split(command)
    whole = [sys.executable, "-m", f"benchmarks.{script}", *arguments]
    lines = []
    with subprocess.Popen(whole, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        raise SystemExit(f"benchmarks.{command} ended with {process.returncode}; nothing is kept")
    return lines


def measure(name: str) -> None:
    """Run a claim's script, and append its record."""
    claim, load = CLAIMS[name], os.getloadavg()
    record = claim.record(name, output_of(claim.command), load)
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")
    print(f"{name}: {claim.cell(record)}")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a claim; without any the claims are listed")
    parser.add_argument("--page", action="store_true", help="make the page's table of what is kept")
    chosen = parser.parse_args(arguments)
    for name in chosen.names:
        if name not in CLAIMS:
            parser.error(f"NAME {name!r} is no claim: {did_you_mean(name, CLAIMS, 'python -m benchmarks lists them')}")
    for name in chosen.names:
        measure(name)
        write_page()
    if chosen.page:
        write_page()
    elif not chosen.names:
        for name, claim in CLAIMS.items():
            print(f"{name:<20}{claim.claim}\n{'':<20}python -m benchmarks.{claim.command}")


if __name__ == "__main__":
    main()
