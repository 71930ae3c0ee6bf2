"""How far a command is, on the error stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from apportion.pipeline.engine.progress import StageProgress


class Progress(Protocol):
    """Hears how far the work is."""

    def __call__(self, done: float, total: float | None, place: str = "") -> None:
        """``done`` units of ``total``; ``place`` says where it is."""
        ...


@contextmanager
def shown_progress(stage: str, unit: str, quiet: bool, *, where: bool = False) -> Iterator[Progress]:
    """A ``progress(done, total, place)`` for the work below, which is shown in whole units of ``unit`` ("sessions").

    It may be called with 0 before the first unit; a ``total`` of None is one that nobody knows. ``where`` shows the
    place, too; ``quiet`` shows nothing.
    """
    with StageProgress(quiet=quiet) as stages:
        shown: int | None = None

        def progress(done: float, total: float | None, place: str = "") -> None:
            nonlocal shown
            count, whole = max(0, int(done)), int(total or 0)
            if shown is None:
                stages.begin(stage, whole, unit)
                shown = 0
            if count > shown:
                stages.advance(stage, count - shown)
                if where:
                    stages.note(stage, place)
                stages.pulse()
                shown = count

        yield progress
