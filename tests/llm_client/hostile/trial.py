"""One fault, one run of decompose against it, and the same command again once the server is well."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import RATINGS, UTTERANCES
from apportion.corpus.schema import SESSIONS as SESSIONS_TABLE
from tests.behaviour.command import config, in_process
from tests.behaviour.small import table
from tests.llm_client.certificates import certificate, server_context
from tests.llm_client.hostile.faults import SESSIONS, Fault
from tests.llm_client.hostile.server import HostileServer, hostile

ROOT = Path(__file__).resolve().parents[3]
_CONFIG = """corpus = "corpus"
output = "run"
[run]
workers = 1
prices = "prices.toml"
[decompose]
method = "llm"
[decompose.llm]
base_url = "{url}"
model = "m"
{settings}
"""
_OF_THE_NETWORK = {"http_proxy", "https_proxy", "all_proxy", "no_proxy", "openai_api_key"}


@dataclass(frozen=True)
class Trial:
    """What came of one fault."""

    outcome: str
    lost: int  # Sessions that a patient person would have had by then and this run had not.
    after: int  # Sessions with rewards when the same command has run once more, the server being well.
    asked_again: int  # Dialogues that had rewards and were asked about again in the second run.
    said: str


def write_corpus(folder: Path) -> None:
    """Dialogues that all differ, so that no two are one request."""
    said = ("I am customer {}, can you help me?", "Of course.", "The lamp is broken.", "Send it back.", "Thank you.")
    sessions = [{"session_id": f"s{n}", "source": "test", "language": "en"} for n in range(SESSIONS)]
    utterances = [
        {"session_id": f"s{n}", "turn": turn, "speaker": ("user", "bot")[turn % 2], "text": text.format(n)}
        for n in range(SESSIONS)
        for turn, text in enumerate(said)
    ]
    scale = {"name": "satisfaction", "low": 1.0, "high": 5.0, "higher_is_better": True}
    ratings = [
        {"session_id": f"s{n}", "rater": "user", "target": "bot", "score": 1.0 + n % 5, **scale}
        for n in range(SESSIONS)
    ]
    tables = {
        schema.name: table(schema, rows)
        for schema, rows in ((SESSIONS_TABLE, sessions), (UTTERANCES, utterances), (RATINGS, ratings))
    }
    Corpus.of(folder, tables).write(folder)


def tried(fault: Fault, folder: Path, *, alone: bool = True) -> Trial:
    """Run ``fault`` in ``folder``, which is empty; ``alone``: in a process of its own, as a user has it."""
    write_corpus(folder / "corpus")
    (folder / "prices.toml").write_text('[models]\n"m" = { input = 1, output = 1 }\n')
    server = HostileServer(
        fault.makes(),
        tls=server_context(certificate(folder, "IP:127.0.0.1")) if fault.kind == "tls" else None,
        dies_after=2 if fault.kind in ("dies", "away") else None,
        away_s=4.0 if fault.kind == "away" else None,
    )
    with hostile(server):
        url = server.url
        asked = {"absent": "http://127.0.0.1:9/v1", "proxy": "http://model.example/v1"}.get(fault.kind, url)
        given = {name: value.format(url=url.removesuffix("/v1")) for name, value in fault.environment}
        if fault.kind == "proxy":
            given |= {"OPENAI_API_KEY": "sk-secret"}
        settings = fault.settings + ('\nallow_host = "model.example"' if fault.kind == "proxy" else "")
        run = _run if alone else _run_here
        code, said = run(folder, asked, settings, given, fault.run)
    got, causes = _sessions(folder), _quarantined(folder)
    healthy = HostileServer()
    with hostile(healthy):
        _run_here(folder, healthy.url, fault.settings, {}, ())
    return Trial(
        _outcome(fault, code, len(got), said, causes),
        max(0, fault.patient - len(got)),
        len(_sessions(folder)),
        sum(1 for number in got if healthy.asked[number]),
        said,
    )


def _outcome(fault: Fault, code: int, got: int, said: str, causes: dict[int, str]) -> str:
    everything = said + "".join(causes.values())
    if "Traceback" in said:
        return "a traceback"
    if fault.told not in everything:
        return f"does not tell {fault.told!r}"
    if code == 0 and got == SESSIONS:
        return "recovered"
    if causes and got + len(causes) == SESSIONS and code in (0, 1):
        return "quarantined with evidence"
    if not causes and code in (1, 2) and "." in said:
        return "stopped with advice"
    return f"exit {code}, {got} sessions, {len(causes)} quarantined"


def _run(
    folder: Path, url: str, settings: str, environment: dict[str, str], options: tuple[str, ...]
) -> tuple[int, str]:
    kept = {name: value for name, value in os.environ.items() if name.lower() not in _OF_THE_NETWORK}
    path = config(folder, _CONFIG.format(url=url, settings=settings))
    command = [sys.executable, "-m", "apportion", "run", "--only", "decompose", str(path), *options]
    environment = {**kept, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def _run_here(
    folder: Path, url: str, settings: str, environment: dict[str, str], options: tuple[str, ...]
) -> tuple[int, str]:
    """The same without a process of its own, which takes a third of the time."""
    path = config(folder, _CONFIG.format(url=url, settings=settings))
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.lower() in _OF_THE_NETWORK]:
            patch.delenv(name)
        done = in_process(patch, "run", "--only", "decompose", path, *options, **environment)
    return done.returncode, done.stdout + done.stderr


def _sessions(folder: Path) -> set[int]:
    path = folder / "run" / "rewards.parquet"
    return {int(name[1:]) for name in pq.read_table(path)["session_id"].to_pylist()} if path.exists() else set()


def _quarantined(folder: Path) -> dict[int, str]:
    path = folder / "run" / "quarantine.parquet"
    rows = pq.read_table(path).to_pylist() if path.exists() else []
    # A unit that is no session (the fit of a method, say) has none in its row; what was stopped is only left to do.
    of_sessions = [row for row in rows if row["session_id"] is not None and row["status"] != "stopped"]
    return {int(row["session_id"][1:]): f"{row['cause']}\n{row['evidence'] or ''}" for row in of_sessions}
