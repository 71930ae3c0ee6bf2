"""The study of Kwon et al. (2021) again, all seeds of a cell at once: Figures 2, 3, 5 to 8, 10 and 11, with intervals.

A cell is a method with its data; every cell is trained for all seeds together (`apportion.rlhf.negotiation.experiment`)
and measured after each epoch on held-out contexts against the expert (the anchors: against the first model). Killed,
the same command goes on. The data are Deal or No Deal's, CC BY-NC 4.0: neither they nor what is trained on them may be
passed on with this project; figures may.

    python benchmarks/negotiation.py --data FOLDER --out FOLDER --seeds 20                  # everything
    python benchmarks/negotiation.py --data FOLDER --out FOLDER --seeds 5 --figures anchors,2
    python benchmarks/negotiation.py --data FOLDER --out FOLDER --seeds 5 --set supervised.epochs=30
    python benchmarks/negotiation.py --tables --set reinforce.epochs=3               # of what is kept, training nothing

Ten seeds at a time (``--together``) are one batched model; all cells are trained for the first ten before the next.
What they have come to is kept in ``negotiation_figures.jsonl`` beside this file (``--kept``), and no run anywhere does
it again; where five seeds of it are kept, ``--together 5`` shares the models of the other cells. On two cores run
``--seeds 0-9`` and ``--seeds 10-19``, each with an OUT of its own.

OUT holds a folder a cell, ``results.jsonl`` (a line a cell, epoch, seed and agent), ``tables.md`` and a picture a
figure. Intervals are Student's over seeds, 95 %; two cells are compared seed by seed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)

import torch

from apportion.foundation.files import locked, write_atomically
from apportion.rlhf.negotiation.data.human import read_human
from apportion.rlhf.negotiation.datasets import material_of
from apportion.rlhf.negotiation.experiment import Experiment
from apportion.rlhf.negotiation.settings import NegotiatorSettings
from benchmarks.freed_memory import keep_freed_memory
from benchmarks.negotiation_cells import CELLS, FIGURES, PASSES, REFERENCE_PASSES, seeds_of
from benchmarks.negotiation_kept import KeptFigures, data_of, key_of, told
from benchmarks.negotiation_report import Rows, draw, report

KEPT = ROOT / "benchmarks" / "negotiation_figures.jsonl"


@dataclass(frozen=True)
class Choice:
    """What is run: where the data are, where it is written and kept, which seeds, and what differs from the cells.

    ``together`` seeds are trained as one batched model.
    """

    data: Path | None
    out: Path
    seeds: tuple[int, ...]
    changed: dict[str, Any]
    kept: Path
    together: int = 10

    @cached_property
    def data_key(self) -> str:
        """What tells these data from others."""
        return data_of(None if self.data is None else read_human(self.data).dialogues)

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """The seeds, as many as are trained together."""
        return [self.seeds[first : first + self.together] for first in range(0, len(self.seeds), self.together)]


def settings_of(name: str, choice: Choice, seeds: tuple[int, ...] | None = None) -> NegotiatorSettings:
    """A cell's settings; what was changed by the user holds over the cell's own."""
    passes = REFERENCE_PASSES if name.startswith("anchor") else PASSES
    base: dict[str, Any] = {
        "reinforce": {"epochs": 5},
        "supervised": {"epochs": passes},
        "data": {"dialogues": choice.data},
    }
    values = _merged(_merged(base, choice.changed), CELLS[name])
    if not name.startswith("anchor"):
        values = _merged(values, choice.changed)
    if values["method"] == "sl":
        values["reinforce"]["epochs"] = 1
    own = seeds_of(name, choice.seeds if seeds is None else seeds)
    output = choice.out / name / "-".join(map(str, own))
    return NegotiatorSettings.model_validate(values | {"seeds": own, "output": output})


def _merged(one: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = {key: dict(value) if isinstance(value, dict) else value for key, value in one.items()}
    for key, value in over.items():
        merged[key] = _merged(merged.get(key, {}), value) if isinstance(value, dict) else value
    return merged


def run(name: str, choice: Choice) -> Rows:
    """The figures of a cell, trained where they are not kept already."""
    return [row for group in choice.groups for row in run_group(name, choice, group)]


def run_group(name: str, choice: Choice, group: tuple[int, ...]) -> Rows:
    """Train seeds of a cell together, or go on with them, and give their figures; what is kept is not done again."""
    wanted = seeds_of(name, group)
    if not wanted:
        return []
    epochs = _epochs(settings_of(name, choice, wanted))
    key = key_of(settings_of(name, choice, wanted), choice.data_key)
    file = KeptFigures(choice.kept)
    kept = file.rows(name, key, wanted, epochs)
    finished = {row["seed"] for row in kept if row["epoch"] == epochs}
    missing = tuple(seed for seed in wanted if seed not in finished)
    if not missing:
        return kept
    settings, began = settings_of(name, choice, missing), time.process_time()
    rows: Rows = []

    def keep(done: int, total: int, text: str) -> None:
        print(f"\r{name}: {text} {done}/{total}   ", end="", file=sys.stderr)
        if len(cell.rows) > len(rows):
            rows[:] = [{"cell": name, **row.to_json()} for row in cell.rows]
            file.add(rows, key, choice.data_key, told(choice.changed))

    cell = Experiment(settings, material_of(settings), settings.output, choice.out / "models", progress=keep)
    cell.train()
    keep(1, 1, "finished")
    used = round(time.process_time() - began, 1)
    print(f"\r{name}: seeds {', '.join(map(str, missing))}: {used} s of one core", flush=True)
    return [row for row in kept if row["seed"] in finished] + rows


def _epochs(settings: NegotiatorSettings) -> int:
    return 0 if settings.method == "sl" else settings.reinforce.epochs


def kept_rows(names: Iterable[str], choice: Choice) -> Rows:
    """What is kept of cells, whatever data they were trained on; of one data set, or it is refused."""
    file, rows = KeptFigures(choice.kept), []
    sets = sorted({str(row["data"]) for row in file.read()})
    for name in names:
        if not seeds_of(name, choice.seeds):
            continue
        settings = settings_of(name, choice)
        for data in sets:
            rows += file.rows(name, key_of(settings, data), settings.seeds, _epochs(settings))
    if len(found := {row["data"] for row in rows}) > 1:
        raise SystemExit(f"{choice.kept}: figures of {len(found)} data sets; give --kept with those of one")
    return rows


def changed(texts: Sequence[str]) -> dict[str, Any]:
    """``supervised.epochs=8`` and the like as settings.

    >>> changed(["supervised.epochs=8", "reinforce.greedy=true"])
    {'supervised': {'epochs': 8}, 'reinforce': {'greedy': True}}
    """
    values: dict[str, Any] = {}
    for text in texts:
        name, _, value = text.partition("=")
        group, _, key = name.partition(".")
        if not key or not value:
            raise SystemExit(f"--set {text}: write it as supervised.epochs=8")
        try:
            values.setdefault(group, {})[key] = json.loads(value)
        except json.JSONDecodeError:
            values.setdefault(group, {})[key] = value
    return values


def seeds_from(text: str) -> tuple[int, ...]:
    """``20`` is the first twenty, ``10-19`` those.

    >>> seeds_from("3"), seeds_from("3-4")
    ((0, 1, 2), (3, 4))
    """
    first, dash, last = text.partition("-")
    try:
        found = tuple(range(int(first), int(last) + 1)) if dash else tuple(range(int(first)))
    except ValueError:
        found = ()
    if not found:
        raise SystemExit(f"--seeds {text}: write it as 20, or as 10-19")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of Deal or No Deal; without it scripts play the dialogues")
    parser.add_argument("--out", type=Path, default=Path("negotiation-study"))
    parser.add_argument("--seeds", default="20", help="how many, or which: 10-19")
    parser.add_argument("--together", type=int, default=10, help="seeds that are trained as one batched model")
    parser.add_argument("--kept", type=Path, default=KEPT, help="where figures of finished cells are kept")
    parser.add_argument("--tables", action="store_true", help="show the tables of what is kept, and train nothing")
    parser.add_argument("--figures", default=",".join(FIGURES), help="of " + ", ".join(FIGURES))
    parser.add_argument("--cells", help="cells by name instead of figures: " + ", ".join(CELLS))
    parser.add_argument("--set", dest="changed", action="append", default=[], metavar="GROUP.KEY=VALUE")
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    figures = options.figures.split(",")
    if unknown := [figure for figure in figures if figure not in FIGURES]:
        parser.error(f"--figures {unknown[0]}: of {', '.join(FIGURES)}")
    names = options.cells.split(",") if options.cells else [cell for figure in figures for cell in FIGURES[figure]]
    names = list(dict.fromkeys(names))
    if unknown := [name for name in names if name not in CELLS]:
        parser.error(f"--cells {unknown[0]}: of {', '.join(CELLS)}")
    seeds, more = seeds_from(options.seeds), changed(options.changed)
    choice = Choice(options.data, options.out, seeds, more, options.kept, max(1, options.together))
    if options.tables:
        print(report(kept_rows(names, choice)))
        return
    message = f"{choice.out} is in use by another study. Wait for it, or give another --out."
    with locked(choice.out / ".lock", message, SystemExit):
        study(names, () if options.cells else figures, choice)


def study(names: Sequence[str], figures: Sequence[str], choice: Choice) -> None:
    """Train all cells for some seeds after the other, tell results after each, and draw the figures."""
    rows: Rows = []
    for group, name in product(choice.groups, names):
        rows += run_group(name, choice, group)
        write_atomically(choice.out / "results.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        write_atomically(choice.out / "tables.md", report(rows))
    for figure in figures:
        if figure != "anchors":
            draw(rows, figure, choice.out / f"figure-{figure}.png")
    print(report(rows))


if __name__ == "__main__":
    main()
