"""Curves of a training while it goes on: TensorBoard event files, and Weights & Biases."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from apportion.foundation.errors import InputError
from apportion.foundation.optional_packages import check_extra
from apportion.rlhf.settings import AlignSettings

FLUSH_S = 2


def check_tensorboard(called: str = "tensorboard") -> None:
    """Raise InputError where the package that writes event files is not installed; ``called`` asks for them."""
    check_extra("tensorboardX", "tensorboard", called, "writing event files")


def check_event_folder(folder: Path, called: str = "tensorboard") -> None:
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

    def __init__(self, folder: Path, called: str = "tensorboard") -> None:
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
def event_files(folder: Path | None, called: str = "tensorboard") -> Iterator[tuple[EventFiles, ...]]:
    """What watches a run: event files in ``folder``, which ``called`` names, nothing where it is None."""
    if folder is None:
        yield ()
        return
    events = EventFiles(folder, called)
    try:
        yield (events,)
    finally:
        events.close()


def check_wandb(called: str = "wandb") -> None:
    """Raise InputError where wandb is not installed; ``called`` asks for it."""
    check_extra("wandb", "wandb", called, "curves at Weights & Biases")


class WandbRun:
    """One point a step and metric (``align/reward``, ...); settings and numbers are sent, no text of the corpus.

    ``WANDB_MODE=offline`` in the environment keeps everything on this machine, in ``folder``.
    """

    def __init__(self, project: str, folder: Path, settings: AlignSettings, seed: int, called: str = "wandb") -> None:
        check_wandb(called)
        import wandb

        folder.mkdir(parents=True, exist_ok=True)
        try:
            self._run: Any = wandb.init(
                project=project,
                dir=str(folder),
                job_type="align",
                config={**settings.model_dump(mode="json", exclude={"policy"}), "seed": seed},
                # Neither what is printed nor code nor the state of the repository is any of its business.
                settings=wandb.Settings(console="off", silent=True, disable_code=True, disable_git=True),
            )
        except Exception as error:  # It fails in many ways: no key, no network, a wrong project.
            cause = " ".join(str(error).split())[:200]
            raise InputError(
                f"{called} = {project!r}: Weights & Biases does not start ({type(error).__name__}: {cause}). Log in "
                f"with `wandb login`, set WANDB_MODE=offline, or take {called} out of the configuration."
            ) from error

    def __call__(self, step: int, metrics: Mapping[str, float]) -> None:
        """Send the metrics of ``step`` (from 1)."""
        self._run.log({f"align/{name}": value for name, value in metrics.items()}, step=step)

    def close(self, failed: bool) -> None:
        """Nothing is sent after this."""
        self._run.finish(exit_code=int(failed))


@contextmanager
def wandb_run(
    project: str | None, folder: Path, settings: AlignSettings, seed: int, called: str = "wandb"
) -> Iterator[tuple[WandbRun, ...]]:
    """What watches a run: a run in ``project``, nothing where it is None; ``folder`` holds its files.

    ``called`` is what the caller calls the choice of the project.
    """
    if project is None:
        yield ()
        return
    watcher = WandbRun(project, folder, settings, seed, called)
    try:
        yield (watcher,)
    except BaseException:
        watcher.close(failed=True)
        raise
    watcher.close(failed=False)
