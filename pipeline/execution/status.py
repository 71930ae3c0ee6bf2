"""How far a run is, while it goes on or later, by what its processes note of their units."""

from __future__ import annotations

import os
import platform
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from apportion.foundation.errors import InputError, StoppedError
from apportion.foundation.truncate import indented
from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cache.database import Place, may_exist
from apportion.llm_client.usage import Usage
from apportion.pipeline.engine.progress import LOST, RUNNING, Entry, entries, last_begun, noted_url, time_text
from apportion.pipeline.shared_place import shared_place

FINISHED, FAILED = ("done", "reused"), ("failed", "blocked", LOST)
MOST_SHOWN = 10


@dataclass(frozen=True)
class StageStatus:
    """How far a stage is. ``seconds``: of work, over all processes. ``left_s``: by its own pace; None: not known."""

    stage: str
    units: int
    done: int
    running: int
    failed: int
    stopped: int
    seconds: float
    left_s: float | None


@dataclass(frozen=True)
class RunStatus:
    """How far the last run into a folder is, and what it has paid for replies."""

    output: Path
    stages: tuple[StageStatus, ...]
    running: tuple[Entry, ...]
    failed: tuple[Entry, ...]
    replies: Usage | None

    @property
    def ended(self) -> bool:
        """Whether nothing is at work and nothing is left."""
        return not self.running and all(s.done + s.failed + s.stopped >= s.units for s in self.stages)

    def to_json(self) -> dict[str, Any]:
        """The same for other programs."""
        return {**asdict(self), "output": str(self.output)}

    def text(self) -> str:
        """The same for a person."""
        lines = [f"{'stage':<16}{'units':>7}{'done':>7}{'running':>9}{'failed':>8}{'took':>14}{'left':>14}"]
        for stage in self.stages:
            left = "" if stage.left_s is None else f"~ {time_text(stage.left_s)}"
            took = time_text(stage.seconds) if stage.seconds else ""
            counts = f"{stage.units:>7,}{stage.done:>7,}{stage.running:>9,}{stage.failed:>8,}"
            lines.append(f"{stage.stage:<16}{counts}{took:>14}{left:>14}".rstrip())
        at_work = [
            f"{e.stage} ({e.unit}): for {time_text(e.seconds)}, process {e.process} of {e.host}" for e in self.running
        ]
        causes = [f"{e.stage} ({e.unit}): {e.cause or 'its process ended without a word'}" for e in self.failed]
        for title, told in (("running:", at_work), ("quarantined:", causes)):
            lines += [title, *indented(told, MOST_SHOWN)] if told else []
        lines += [f"language model: {self.replies.text()}"] if self.replies else []
        return "\n".join(lines)


def run_status(output: Path, llm_cache: Place, store: str | None = None) -> RunStatus:
    """How far the last run into ``output`` is; raises InputError where nothing has been run into it."""
    place = shared_place(store or noted_url(output / "store"), output / "store")
    begun, known = last_begun(place), entries(place)
    if begun is None:
        raise InputError(f"{output}: nothing has been run into this folder. Run `apportion run CONFIG` first.")
    stages = tuple(_stage(name, count, [e for e in known if e.stage == name]) for name, count in begun[0].items())
    running = tuple(entry for entry in known if entry.status == RUNNING)
    # SQLite's log is for one machine: while another one works with it, the cost is not asked for.
    elsewhere = isinstance(llm_cache, Path) and any(entry.host != platform.node() for entry in running)
    paid = None if elsewhere else _paid(llm_cache)
    return RunStatus(output, stages, running, tuple(e for e in known if e.status in FAILED), paid)


def _stage(name: str, units: int, known: Sequence[Entry]) -> StageStatus:
    counts = Counter(entry.status for entry in known)
    left = units - len(known) + counts[RUNNING]
    took = [entry.seconds for entry in known if entry.status == "done"]
    left_s = left * statistics.fmean(took) / counts[RUNNING] if took and counts[RUNNING] else None
    done, failed = (sum(counts[status] for status in group) for group in (FINISHED, FAILED))
    seconds = sum(entry.seconds for entry in known)
    return StageStatus(name, units, done, counts[RUNNING], failed, counts["stopped"], seconds, left_s)


def _paid(place: Place) -> Usage | None:
    """What was paid into a reply cache; None where there is none, or it cannot be asked from here."""
    if not may_exist(place) or not (isinstance(place, str) or os.access(place, os.W_OK)):
        return None
    try:
        cache = ReplyCache(place)
    except (InputError, StoppedError):
        return None
    try:
        return cache.usage()
    finally:
        cache.close()
