"""How TRL's trainers are run here: quietly, and with checkpoints that hold nothing pickled but tensors."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback

from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.sharding import shard_for_trainer, sharding_asked
from apportion.rlhf.policy.writing import write_adapter
from apportion.rlhf.trainers.arguments import updates_a_step
from apportion.rlhf.trainers.checkpoints import TrainerCheckpoints
from apportion.rlhf.trainers.step_callback import StepCallback, TrainerHooks
from apportion.rlhf.training.run import Run


class AdapterSaving:
    """Part of a trainer: a checkpoint's weights are written in our form, without the trainer's pickled arguments."""

    policy: Policy
    model: Any
    args: Any

    def _save(self, output_dir: str, state_dict: Any = None) -> None:
        # The trainer asks every process.
        if not self.args.should_save:
            return
        folder = Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        write_adapter(folder, self.policy, self.model)

    def _send_telemetry(self) -> None:
        """Nothing: TRL would tell the Hub what is trained, and how."""

    def create_model_card(self, *arguments: Any, **options: Any) -> None:
        """Nothing: the policy card is ours."""


def trainer_checkpoints(run: Run) -> TrainerCheckpoints | None:
    """What a killed run goes on from; None where it keeps nothing."""
    return TrainerCheckpoints(run.checkpoints, run.processes.size) if run.checkpoints else None


@contextmanager
def trainer_folder(run: Run, checkpoints: TrainerCheckpoints | None) -> Iterator[Path]:
    """Where a trainer may write until a checkpoint is whole; one for all processes, where there are checkpoints."""
    if checkpoints is None:
        with tempfile.TemporaryDirectory(prefix="apportion-align-") as name:
            yield Path(name)
        return
    folder = None
    if run.processes.rank == 0:
        checkpoints.clear_scratch()
        folder = checkpoints.scratch()
    folder = run.processes.broadcast(folder)
    assert folder is not None
    yield folder
    # The trainer looks into it once more when it has ended.
    run.processes.wait()
    if run.processes.rank == 0:
        checkpoints.clear_scratch()


def carry_out(trainer: Any, run: Run, hooks: TrainerHooks, checkpoints: TrainerCheckpoints | None) -> None:
    """Train up to ``run.settings.steps`` steps, from the newest checkpoint on where there is one.

    Raises
    ------
    InputError
        Settings with which processes that share the weights would not read the model equally often.
    UnitError
        A reward, loss or gradient that is not a finite number, or an alarm; the last good checkpoint is kept and named.
        A checkpoint that cannot be read.
    """
    if sharding_asked(run.processes):
        shard_for_trainer(trainer.model, run.settings, run.processes)
    callback = StepCallback(run, hooks, updates_a_step(run.settings), checkpoints)
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(callback)
    newest = callback.resume()
    if run.processes.rank:
        # Each process samples other replies and drops other activations; the first one's are those of a single one.
        torch.manual_seed(run.seed + run.processes.rank)
    try:
        trainer.train(resume_from_checkpoint=str(newest) if newest else None)
    except UnitError as error:
        last_good = checkpoints.kept() if checkpoints else None
        raise UnitError(f"{error} {last_good}" if last_good else str(error)) from None
