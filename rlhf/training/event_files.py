"""Curves of a training as TensorBoard event files, for watching a run while it goes on."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from foundation.errors import InputError
from foundation.extras import check_extra

FLUSH_S = 2


def check_tensorboard() -> None:
    """Raise InputError where the package that writes event files is not installed."""
    check_extra("tensorboardX", "tensorboard", "run.tensorboard", "writing event files")


def check_event_folder(folder: Path) -> None:
    """Raise InputError where no event files can be written into ``folder``, which is made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"run.tensorboard = {str(folder)!r}: cannot be written ({error.strerror}). Name a folder of yours."
        ) from None


class EventFiles:
    """Writes one point a step and metric (``align/reward``, ...); a resumed run adds a file to the same folder."""

    def __init__(self, folder: Path) -> None:
        check_tensorboard()
        from tensorboardX import SummaryWriter

        check_event_folder(folder)
        self._writer: Any = SummaryWriter(str(folder), flush_secs=FLUSH_S)

    def __call__(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write the metrics of ``step`` (from 1); they reach the disk within seconds."""
        for name, value in metrics.items():
            self._writer.add_scalar(f"align/{name}", value, step)

    def close(self) -> None:
        """Nothing is written after this."""
        self._writer.close()


@contextmanager
def event_files(folder: Path | None) -> Iterator[tuple[EventFiles, ...]]:
    """What watches a run: event files in ``folder``, nothing where it is None."""
    if folder is None:
        yield ()
        return
    events = EventFiles(folder)
    try:
        yield (events,)
    finally:
        events.close()
