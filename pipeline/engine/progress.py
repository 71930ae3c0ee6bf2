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


@dataclass
class StageProgress:
    """Units done of each stage, shown as they finish; ``quiet`` shows nothing (for --json)."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    quiet: bool = False

    def __post_init__(self) -> None:
        self._live: RichProgress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._state: dict[str, tuple[int, int]] = {}
        self._last_line_at = time.monotonic()

    def __enter__(self) -> StageProgress:
        if not self.quiet and self.stream.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            self._live = Progress(
                TextColumn("{task.description:<13}"),
                BarColumn(bar_width=28),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[note]}"),
                console=Console(file=self.stream),
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def begin(self, stage: str, total: int) -> None:
        """A stage starts with ``total`` units."""
        self._state[stage] = (0, total)
        if self._live is not None:
            self._tasks[stage] = self._live.add_task(stage, total=total, note="")

    def advance(self, stage: str, units: int) -> None:
        """``units`` more of a stage are finished."""
        done, total = self._state[stage]
        self._state[stage] = (done + units, total)
        if self._live is not None:
            self._live.update(self._tasks[stage], advance=units)

    def note(self, stage: str, text: str) -> None:
        """What a long unit is doing (an epoch's loss, a PPO step's reward)."""
        if self._live is not None and stage in self._tasks:
            self._live.update(self._tasks[stage], note=text)
        elif time.monotonic() - self._last_line_at > PLAIN_INTERVAL_S:
            self._line(f"{stage}: {text}")

    def end(self, stage: str, summary: str) -> None:
        """A stage is finished; ``summary`` says what was done and what was reused."""
        if self._live is not None:
            self._live.update(self._tasks[stage], note=summary)
        else:
            self._line(f"{stage}: {summary}")

    def warn(self, text: str) -> None:
        """Something about the input that a person should know before hours are spent."""
        if not self.quiet:
            print(f"warning: {text}", file=self.stream, flush=True)

    def _line(self, text: str) -> None:
        self._last_line_at = time.monotonic()
        if not self.quiet:
            print(text, file=self.stream, flush=True)
