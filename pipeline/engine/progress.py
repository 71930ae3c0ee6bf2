"""Telling a person how far a run is: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

PLAIN_INTERVAL_S = 10.0
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
        self._notes: dict[str, str] = {}
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

    def begin(self, stage: str, total: int) -> None:
        """A stage starts with ``total`` units."""
        self._ended[stage] = {}
        self._totals[stage] = total
        if self._live is not None:
            if stage in self._tasks:  # Begun once more, since a worker was lost.
                self._live.remove_task(self._tasks[stage])
            self._tasks[stage] = self._live.add_task(stage, total=total, note="")

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
        """Where there is no terminal: a line now and then on each stage that is under way, so that none is silent."""
        if self._live is not None or time.monotonic() - self._last_line_at <= PLAIN_INTERVAL_S:
            return
        for stage, total in list(self._totals.items()):
            done = sum(list(self._ended[stage].values()))
            self._line(f"{stage}: {self._notes.pop(stage, None) or f'{done} of {total}'}")

    def end(self, stage: str, summary: str) -> None:
        """A stage is finished; ``summary`` says what was done and what was reused."""
        self._totals.pop(stage, None)
        self._notes.pop(stage, None)
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
        if self._live is not None:
            self._live.update(self._tasks[stage], completed=sum(ended.values()))

    def _line(self, text: str) -> None:
        self._last_line_at = time.monotonic()
        if not self.quiet:
            print(text, file=self.stream, flush=True)


def _bars(stream: TextIO) -> RichProgress:
    """A line a stage, of which the last column alone gives way where the terminal is narrow."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    console = Console(file=stream)
    width = next(width for columns, width in BAR_WIDTHS if console.width >= columns)

    def fixed(least: int | None = None) -> Column:
        return Column(no_wrap=True, min_width=least)

    return Progress(
        TextColumn("{task.description}", table_column=fixed(NAME_WIDTH)),
        BarColumn(bar_width=width, table_column=fixed(width)),
        MofNCompleteColumn(table_column=fixed()),
        TimeElapsedColumn(table_column=fixed()),
        TextColumn("{task.fields[note]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
        console=console,
        expand=True,
    )
