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
from apportion.rlhf.training.job import Watcher

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


@contextmanager
def event_files(folder: Path | None, called: str = "tensorboard") -> Iterator[tuple[Watcher, ...]]:
    """What watches a run: one point a step and metric (``align/reward``, ...) in ``folder``, nothing where it is None.

    A resumed run adds a file to the same folder. ``called`` names the folder.
    """
    if folder is None:
        yield ()
        return
    check_tensorboard(called)
    from tensorboardX import SummaryWriter

    check_event_folder(folder, called)
    writer: Any = SummaryWriter(str(folder), flush_secs=FLUSH_S)

    def write(step: int, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            writer.add_scalar(f"align/{name}", value, step)

    try:
        yield (write,)
    finally:
        writer.close()


def check_wandb(called: str = "wandb") -> None:
    """Raise InputError where wandb is not installed; ``called`` asks for it."""
    check_extra("wandb", "wandb", called, "curves at Weights & Biases")


@contextmanager
def wandb_run(
    project: str | None, folder: Path, settings: AlignSettings, seed: int, called: str = "wandb"
) -> Iterator[tuple[Watcher, ...]]:
    """What watches a run: one point a step and metric in ``project``, nothing where it is None.

    Settings and numbers are sent, no text of the corpus. ``WANDB_MODE=offline`` in the environment keeps everything on
    this machine, in ``folder``. ``called`` is what the caller calls the choice of the project.
    """
    if project is None:
        yield ()
        return
    check_wandb(called)
    import wandb

    folder.mkdir(parents=True, exist_ok=True)
    try:
        run: Any = wandb.init(
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
    try:
        yield (lambda step, metrics: run.log({f"align/{name}": value for name, value in metrics.items()}, step=step),)
    except BaseException:
        run.finish(exit_code=1)
        raise
    run.finish(exit_code=0)
