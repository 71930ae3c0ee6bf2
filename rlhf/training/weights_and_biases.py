"""Curves of a training at Weights & Biases, for watching a run from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from apportion.foundation.errors import InputError
from apportion.foundation.optional_packages import check_extra
from apportion.rlhf.settings import AlignSettings

CALLED = "wandb"
"""What a project is called where the caller has no name for it."""


def check_wandb(called: str = CALLED) -> None:
    """Raise InputError where wandb is not installed; ``called`` asks for it."""
    check_extra("wandb", "wandb", called, "curves at Weights & Biases")


class WandbRun:
    """One point a step and metric (``align/reward``, ...); settings and numbers are sent, no text of the corpus.

    ``WANDB_MODE=offline`` in the environment keeps everything on this machine, in ``folder``.

    Raises
    ------
    InputError
        wandb is not installed, or does not start (no login, no network).
    """

    def __init__(self, project: str, folder: Path, settings: AlignSettings, seed: int, called: str = CALLED) -> None:
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
    project: str | None, folder: Path, settings: AlignSettings, seed: int, called: str = CALLED
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
