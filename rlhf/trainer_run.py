"""How TRL's trainers are run here: quietly, and with checkpoints that hold nothing pickled but tensors."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import PrinterCallback

from corpus.errors import UnitError
from rlhf.checkpoint import write_adapter
from rlhf.policies import Policy
from rlhf.run import Run
from rlhf.step_callback import Learner, StepCallback
from rlhf.trainer_arguments import updates_a_step
from rlhf.trainer_state import TrainerCheckpoints


class AdapterSaving:
    """Part of a trainer: a checkpoint's weights are written in our form, without the trainer's pickled arguments."""

    policy: Policy
    model: Any

    def _save(self, output_dir: str, state_dict: Any = None) -> None:
        folder = Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        write_adapter(folder, self.policy, self.model)

    def create_model_card(self, *arguments: Any, **options: Any) -> None:
        """Nothing: the policy card is ours."""


@contextmanager
def trainer_folder(checkpoints: TrainerCheckpoints | None) -> Iterator[Path]:
    """Where a trainer may write until a checkpoint is whole."""
    if checkpoints is None:
        with tempfile.TemporaryDirectory(prefix="apportion-align-") as folder:
            yield Path(folder)
        return
    checkpoints.clear_scratch()
    yield checkpoints.scratch()
    checkpoints.clear_scratch()


def carry_out(trainer: Any, run: Run, learner: Learner, checkpoints: TrainerCheckpoints | None, watched: bool) -> None:
    """Train up to ``run.settings.steps`` steps, from the newest checkpoint on where there is one.

    ``watched``: whether alarms stop the run.

    Raises
    ------
    UnitError
        A reward, loss or gradient that is not a finite number, or an alarm; the last good checkpoint is kept and named.
        A checkpoint that cannot be read.
    """
    callback = StepCallback(run, learner, updates_a_step(run.settings), checkpoints, watched)
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(callback)
    found = callback.resume()
    try:
        trainer.train(resume_from_checkpoint=str(found) if found else None)
    except UnitError as error:
        kept = checkpoints.kept() if checkpoints else None
        raise UnitError(f"{error} {kept}" if kept else str(error)) from None
