"""Curves of a training as TensorBoard event files, for watching a run while it goes on."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from apportion.foundation.errors import InputError
from apportion.foundation.optional_packages import check_extra

FLUSH_S = 2
CALLED = "tensorboard"
"""What a folder of event files is called where the caller has no name for it."""


def check_tensorboard(called: str = CALLED) -> None:
    """Raise InputError where the package that writes event files is not installed; ``called`` asks for them."""
    check_extra("tensorboardX", "tensorboard", called, "writing event files")


def check_event_folder(folder: Path, called: str = CALLED) -> None:
    """Raise InputError where no event files can be written into ``folder``, which is made; ``called`` names it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"{called} = {str(folder)!r}: cannot be written ({error.strerror}). Name a folder of yours."
        ) from None


class EventFiles:
    """Writes one point a step and metric (``align/reward``, ...); a resumed run adds a file to the same folder."""

    def __init__(self, folder: Path, called: str = CALLED) -> None:
        check_tensorboard(called)
        from tensorboardX import SummaryWriter

        check_event_folder(folder, called)
        self._writer: Any = SummaryWriter(str(folder), flush_secs=FLUSH_S)

    def __call__(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write the metrics of ``step`` (from 1); they reach the disk within seconds."""
        for name, value in metrics.items():
            self._writer.add_scalar(f"align/{name}", value, step)

    def close(self) -> None:
        """Nothing is written after this."""
        self._writer.close()


@contextmanager
def event_files(folder: Path | None, called: str = CALLED) -> Iterator[tuple[EventFiles, ...]]:
    """What watches a run: event files in ``folder``, which ``called`` names, nothing where it is None."""
    if folder is None:
        yield ()
        return
    events = EventFiles(folder, called)
    try:
        yield (events,)
    finally:
        events.close()
