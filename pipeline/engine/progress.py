"""How far a run is: a bar on a terminal, plain lines elsewhere; and noted, unit by unit, for whoever asks.

Each process appends what it notes to a file of its own, which anybody may read. No result rests on it: whether a unit
is finished is the store's to say.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from apportion.foundation.errors import InputError
from apportion.pipeline.shared_place import Folder, checked_url

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

FOLDER, PLAN, URL = "activity", "plan.json", "url"
RUNNING, LOST = "running", "lost"
PLAIN_INTERVAL_S = 10.0
SILENCE_S = 60.0
"""After which a stage that has nothing new to tell says that it is still under way."""
NAME_WIDTH = 13
BAR_WIDTHS = ((120, 28), (90, 14), (0, 6))
"""Columns of the terminal from which on a bar is that wide: what is said of a step needs the rest."""


@dataclass
class StageProgress:
    """Units done of each stage, shown as they finish; ``quiet`` shows nothing (for --json)."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    quiet: bool = False

    def __post_init__(self) -> None:
        self._live: RichProgress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._totals: dict[str, int] = {}
        self._ended: dict[str, dict[int, int]] = {}
        self._first: dict[str, tuple[float, int]] = {}
        self._units: dict[str, str] = {}
        self._notes: dict[str, str] = {}
        self._told: dict[str, int] = {}
        self._last_line_at = time.monotonic()

    def __enter__(self) -> StageProgress:
        if not self.quiet and self.stream.isatty():
            self._live = _bars(self.stream)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def begin(self, stage: str, total: int, units: str = "") -> None:
        """A stage starts with ``total`` units (0: nobody knows), which people call ``units``."""
        self._ended[stage] = {}
        self._first.pop(stage, None)
        self._totals[stage] = total
        self._units[stage] = units and f" {units}"
        if self._live is not None:
            if stage in self._tasks:  # Begun once more, since a worker was lost.
                self._live.remove_task(self._tasks[stage])
            self._tasks[stage] = self._live.add_task(stage, total=total or None, note=units)

    def advance(self, stage: str, units: int) -> None:
        """``units`` more of a stage are finished, which a note is to tell where there is no terminal."""
        self._count(stage, 0, self._ended[stage].get(0, 0) + units)

    def reached(self, stage: str, shard: int, units: int) -> None:
        """``units`` of one shard of a stage are finished; an older word of the same shard changes nothing."""
        self._count(stage, shard, units)
        self.pulse()

    def note(self, stage: str, text: str) -> None:
        """What a long unit is doing (an epoch's loss, a PPO step's reward)."""
        self._notes[stage] = text
        if self._live is not None and stage in self._tasks:
            self._live.update(self._tasks[stage], note=text)
        self.pulse()

    def pulse(self) -> None:
        """Where there is no terminal: a line now and then on what is new of each stage that is under way.

        Where nothing is new for a minute, the one that waits longest says that it goes on.
        """
        silent_s = time.monotonic() - self._last_line_at
        if self._live is not None or silent_s <= PLAIN_INTERVAL_S:
            return
        news = [stage for stage in list(self._totals) if stage in self._notes or self._done(stage) > self._shown(stage)]
        for stage in news or list(self._totals)[: silent_s > SILENCE_S]:
            self._told[stage] = self._done(stage)
            note = self._notes.pop(stage, "")
            counted = "" if note and self._totals[stage] == 1 else self._count_text(stage)
            self._line(f"{stage}: {', '.join(filter(None, (counted, note)))}")

    def end(self, stage: str, summary: str) -> None:
        """A stage is finished; ``summary`` says what was done and what was reused."""
        self._totals.pop(stage, None)
        self._notes.pop(stage, None)
        self._told.pop(stage, None)
        if self._live is not None:
            self._live.update(self._tasks[stage], note=summary)
        else:
            self._line(f"{stage}: {summary}")

    def warn(self, text: str) -> None:
        """Something about the input that a person should know before hours are spent."""
        if not self.quiet:
            print(f"warning: {text}", file=self.stream, flush=True)

    def _count(self, stage: str, shard: int, units: int) -> None:
        ended = self._ended[stage]
        ended[shard] = max(ended.get(shard, 0), units)
        done = sum(ended.values())
        if done:
            self._first.setdefault(stage, (time.monotonic(), done))
        if self._live is not None:
            self._live.update(self._tasks[stage], completed=done)

    def _done(self, stage: str) -> int:
        return sum(list(self._ended[stage].values()))

    def _shown(self, stage: str) -> int:
        return self._told.get(stage, 0)

    def _count_text(self, stage: str) -> str:
        """How many are done, of how many, and the seconds that the rest takes at the pace since the first one."""
        done, total, units = self._done(stage), self._totals[stage], self._units[stage]
        if not total:
            return f"{done:,}{units}"
        since, first = self._first.get(stage, (0.0, 0))
        to_go = (total - done) * (time.monotonic() - since) / (done - first) if done > first else 0.0
        return f"{done:,} of {total:,}{units}" + (f", {time_text(to_go)} to go" if to_go else "")

    def _line(self, text: str) -> None:
        self._last_line_at = time.monotonic()
        if not self.quiet:
            print(text, file=self.stream, flush=True)


def time_text(seconds: float) -> str:
    """A span that is not known to the second.

    >>> time_text(0.4), time_text(59.6), time_text(200), time_text(9000)
    ('1 s', '60 s', '3 min 20 s', '2 h 30 min')
    """
    whole = max(1, round(seconds))
    if whole <= 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _bars(stream: TextIO) -> RichProgress:
    """A line a stage, of which the last column alone gives way where the terminal is narrow."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    console = Console(file=stream)
    width = next(width for columns, width in BAR_WIDTHS if console.width >= columns)

    def fixed(least: int | None = None) -> Column:
        return Column(no_wrap=True, min_width=least)

    return Progress(
        TextColumn("{task.description}", table_column=fixed(NAME_WIDTH)),
        BarColumn(bar_width=width, table_column=fixed(width)),
        MofNCompleteColumn(table_column=fixed()),
        TimeRemainingColumn(elapsed_when_finished=True, table_column=fixed()),
        TextColumn("{task.fields[note]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
        console=console,
        expand=True,
    )


@dataclass(frozen=True)
class Entry:
    """The last that is known of a unit. ``seconds``: how long it took, or has taken until now."""

    stage: str
    unit: str
    status: str
    seconds: float
    host: str
    process: int
    cause: str | None = None


class Activity:
    """The record of one run's units, where those who ask see it."""

    def __init__(self, place: Folder) -> None:
        self.place = place
        self._file = f"{FOLDER}/{platform.node()}.{os.getpid()}.jsonl"

    def begin(self, units: Mapping[str, int], settings: str = "") -> None:
        """A run by ``settings`` begins, with so many units of each stage; the one before is forgotten."""
        self.place.clear(FOLDER)
        with suppress(OSError):
            self.place.write(f"{FOLDER}/{PLAN}", json.dumps({"units": dict(units), "settings": settings}))

    @contextmanager
    def unit(self, stage: str, unit: str) -> Iterator[dict[str, Any]]:
        """Around the work on a unit, which says by ``status`` and ``cause`` what has become of it."""
        ended: dict[str, Any] = {"status": "stopped"}
        self._append(stage, unit, {"status": RUNNING})
        try:
            yield ended
        finally:
            self._append(stage, unit, ended)

    def _append(self, stage: str, unit: str, said: Mapping[str, Any]) -> None:
        # Without the folder there is no run that the unit is a part of; a full disk is told of by the unit itself.
        self.place.append(self._file, json.dumps({"stage": stage, "unit": unit, "at": time.time(), **said}) + "\n")


def noted_url(store: Path) -> str | None:
    """The bucket that the last run of this host into the folder ``store`` has shared; None: none."""
    with suppress(OSError, ValueError, InputError):
        return checked_url((store / FOLDER / URL).read_text(encoding="utf-8"))
    return None


def last_begun(place: Folder) -> tuple[dict[str, int], str] | None:
    """The units of each stage of the run that began last, and its settings; None: none has."""
    try:
        plan = json.loads(place.read(f"{FOLDER}/{PLAN}") or b"")
        return dict(plan["units"]), plan["settings"]
    except (OSError, ValueError, TypeError, KeyError):
        return None


def entries(place: Folder) -> list[Entry]:
    """The last that is known of each unit that has begun; one whose process here is gone is ``lost``."""
    last: dict[tuple[str, str], tuple[float, Entry]] = {}
    noted = place.read_all(sorted(name for name in place.names(FOLDER) if name.endswith(".jsonl")))
    for name, content in noted.items():
        host, process = Path(name).stem.rsplit(".", 1)
        gone = host == platform.node() and not Path(f"/proc/{process}").exists() and Path("/proc/self").exists()
        began: dict[tuple[str, str], float] = {}
        for row in _rows(content):
            unit = (row["stage"], row["unit"])
            began_s = began.setdefault(unit, row["at"])
            if row["status"] == RUNNING:
                began_s = began[unit] = row["at"]
            status = LOST if row["status"] == RUNNING and gone else row["status"]
            seconds = (time.time() if status == RUNNING else row["at"]) - began_s
            if row["at"] >= last.get(unit, (row["at"],))[0]:
                last[unit] = row["at"], Entry(*unit, status, seconds, host, int(process), row.get("cause"))
    return [entry for _, entry in last.values()]


def _rows(content: bytes) -> Iterator[dict[str, Any]]:
    for line in content.decode(errors="replace").splitlines():
        with suppress(ValueError):  # the end of what a killed process was writing
            row = json.loads(line)
            if isinstance(row, dict) and row.keys() >= {"stage", "unit", "at", "status"}:
                yield row
