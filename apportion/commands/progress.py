"""How far a command is, on the error stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipeline.engine.progress import StageProgress


@contextmanager
def shown_progress(stage: str, unit: str, quiet: bool) -> Iterator[Callable[[float, float | None, str], None]]:
    """A ``progress(done, total, where)`` for the work below, in whole units of ``unit`` ("sessions").

    It may be called with 0 before the first unit; ``total`` None is one that is not known; ``where`` is shown where it
    is a policy's name or the like, and may be empty. ``quiet`` shows nothing.
    """
    with StageProgress(quiet=quiet) as stages:
        shown: int | None = None

        def progress(done: float, total: float | None, where: str = "") -> None:
            nonlocal shown
            count, whole = max(0, int(done)), int(total or 0)
            if shown is None:
                stages.begin(stage, whole)
                shown = 0
            if count > shown:
                stages.advance(stage, count - shown)
                of = f"{count} of {whole} {unit}" if whole else f"{count} {unit}"
                stages.note(stage, f"{of}, {where}" if where else of)
                shown = count

        yield progress
