"""A short chain of stages, and calls that write down when they were made, from whatever process."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.foundation.errors import ApportionError, InputError
from apportion.pipeline.engine.stage import Inputs, Outputs, Stage, Work


def _nothing(inputs: Inputs, config: object, work: Work) -> Outputs:
    raise AssertionError("an orchestrator asks the calls to run a shard, never a stage's function")


def _stage(name: str, *needs: str) -> Stage:
    return Stage(name, _nothing, needs=needs, per="session")


CHAIN = (
    _stage("first"),
    _stage("empty"),
    _stage("left", "first"),
    _stage("right", "first", "empty"),
    _stage("last-one", "left", "right"),
)
SHARDS = {"first": 3, "empty": 0, "left": 2, "right": 1, "last-one": 1}
"""Into how many shards a stage can be split; any other stage into two."""

REPORT = "http://127.0.0.1:8000/run/report.html"
QUARANTINED = (("chat-1", "no | score"), ("chat-2", "no text"))


@dataclass(frozen=True)
class WrittenDown:
    """Calls that do nothing but append a line to ``journal``; ``broken`` names a call that raises ``error`` then.

    ``limit_s`` is the time limit of every shard, and the broken call sleeps for ``hangs_s`` first.
    """

    journal: Path
    broken: str | None = None
    quarantined: int = 0
    limit_s: float | None = None
    error: type[ApportionError] = InputError
    hangs_s: float = 0.0
    causes: tuple[tuple[str, str], ...] = ()
    """What each shard of ``left`` puts into quarantine: session and cause."""

    def prepare(self, config: str) -> None:
        self._write(f"prepare {config}")

    def list_shards(self, config: str, stage: str, shards: int) -> list[int]:
        self._write(f"list {stage}")
        return list(range(min(shards, SHARDS.get(stage, 2))))

    def time_limit_s(self, config: str, stage: str) -> float | None:
        return self.limit_s

    def run_shard(self, config: str, stage: str, shard: int, shards: int) -> dict[str, Any]:
        self._write(f"run {stage} {shard}/{shards}")
        causes = [list(one) for one in self.causes if stage == "left"]
        return {"done": 1, "reused": 0, "quarantined": len(causes)} | ({"causes": causes} if causes else {})

    def finish(self, config: str) -> dict[str, int]:
        self._write("finish")
        return {"quarantined": self.quarantined}

    def report_url(self, config: str) -> str:
        return REPORT

    def told(self, session: str, stage: str, cause: str) -> None:
        """What a team is told of a session in quarantine; the second one cannot be told."""
        self._write(f"told {session} {stage} {cause}")
        assert session != "chat-2"

    def lines(self) -> list[str]:
        """The calls made so far, in their order."""
        return self.journal.read_text().splitlines()

    def _write(self, line: str) -> None:
        with self.journal.open("a") as file:
            file.write(f"{line}\n")
        if line == self.broken:
            time.sleep(self.hangs_s)
            raise self.error(f"{line}: broken on purpose")


def assert_complete(lines: list[str], config: str, shards: int) -> None:
    """Every call was made once, and none before what it needs."""
    runs = {name: [f"run {name} {i}/{shards}" for i in range(min(shards, SHARDS[name]))] for name in SHARDS}
    expected = [f"prepare {config}", *(f"list {name}" for name in SHARDS), *(x for one in runs.values() for x in one)]
    assert sorted(lines) == sorted([*expected, "finish"])
    assert lines[0] == f"prepare {config}"
    assert lines[-1] == "finish"
    for stage in CHAIN:
        for run in runs[stage.name]:
            before = lines[: lines.index(run)]
            assert f"list {stage.name}" in before
            assert all(needed in before for need in stage.needs for needed in runs[need]), f"{run} came too early"
