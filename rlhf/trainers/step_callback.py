"""What happens after every step of a training by TRL's trainers: metrics, alarms, checkpoint, progress."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from apportion.foundation.errors import UnitError
from apportion.rlhf.trainers.checkpoints import TrainerCheckpoints
from apportion.rlhf.training.alarms import Alarms, gamed
from apportion.rlhf.training.progress_line import progress_line
from apportion.rlhf.training.run import Run


class TrainerHooks(Protocol):
    """What a step's metrics are asked of, and what it has to keep from step to step."""

    def metrics(self, logs: Mapping[str, float]) -> dict[str, float]:
        """The step's metrics, ``logs`` being the trainer's own means over the step's updates."""
        ...

    def state(self) -> Any:
        """What a checkpoint has to hold beside the trainer's own, as JSON values."""
        ...

    def load_state(self, state: Any) -> None:
        """Go on from what `state` gave."""
        ...


class StepCallback(TrainerCallback):
    """One step is ``updates`` optimizer steps; the trainer has to log and to save once a step.

    Every process of ``run.processes`` has one; all of them come to the same metrics and alarms, the first one finishes
    checkpoints.

    Parameters
    ----------
    run : Run
        Where metrics and progress go.
    hooks : TrainerHooks
        Knows the step's metrics.
    updates : int
        Optimizer steps of one step.
    checkpoints : TrainerCheckpoints or None
        What a killed run goes on from.
    watched : bool
        Whether alarms stop the run.
    """

    def __init__(
        self, run: Run, hooks: TrainerHooks, updates: int, checkpoints: TrainerCheckpoints | None, watched: bool
    ) -> None:
        self.run = run
        self.hooks = hooks
        self.updates = updates
        self.checkpoints = checkpoints
        self.alarms = Alarms(run.settings.alarms) if watched else None
        self._metrics: dict[str, float] = {}
        self._since = 0.0

    def resume(self) -> Path | None:
        """Take up the newest checkpoint; the folder that the trainer has to go on from, None to start anew.

        Raises
        ------
        UnitError
            A checkpoint that cannot be read.
        """
        newest = self.checkpoints.open() if self.checkpoints else None
        if newest is None:
            return None
        folder, state = newest
        self.run.metrics.restore(state["history"])
        self.hooks.load_state(state["own"])
        if self.alarms:
            self.alarms.load_state(state["alarms"])
        return folder

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any
    ) -> None:
        """Start the clock."""
        self._since = time.perf_counter()

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, float] | None = None,
        **others: Any,
    ) -> None:
        """Note a step's metrics.

        Raises
        ------
        UnitError
            A loss or gradient that is not a finite number, or an alarm.
        """
        if logs is None or "loss" not in logs:
            return
        step, algorithm = self._step(state), self.run.settings.algorithm.upper()
        for name, what in (("loss", "the loss"), ("grad_norm", "the gradient's norm")):
            if not math.isfinite(logs.get(name, 0.0)):
                raise UnitError(
                    f"{algorithm} step {step}: {what} is {logs[name]}; it must be a finite number. Lower lr."
                )
        # The first one's in all: what an alarm tells one process it tells every other.
        self._metrics = self.run.processes.broadcast(self.hooks.metrics(logs))
        self.run.metrics.add(step, self._metrics)
        reason = self.alarms.check(self._metrics) if self.alarms else None
        for watcher in self.run.watch:
            watcher(step, self._metrics)
        if reason:
            raise UnitError(gamed(self.run.settings, step, reason))
        if not self.checkpoints:
            self._tell(step)

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any) -> None:
        """Finish the checkpoint that the trainer has written."""
        if not self.checkpoints:
            return
        # Until then some process' random numbers may be missing in it.
        self.run.processes.wait()
        step = self._step(state)
        if self.run.processes.rank == 0:
            self._finish(self.checkpoints, Path(str(args.output_dir)) / f"checkpoint-{state.global_step}", step)
        # An error in the next step names the last good checkpoint, in whatever process.
        self.run.processes.wait()
        self._tell(step)

    def _finish(self, checkpoints: TrainerCheckpoints, written: Path, step: int) -> None:
        ours = {
            "alarms": self.alarms.state() if self.alarms else {"start": {}, "streaks": {}},
            "history": self.run.metrics.rows,
            "own": self.hooks.state(),
        }
        checkpoints.finish(written, step, self.alarms is None or self.alarms.calm, ours)

    def _tell(self, step: int) -> None:
        now = time.perf_counter()
        settings = self.run.settings
        line = progress_line(settings.algorithm, step, self._metrics, settings.batch_size / (now - self._since))
        self._since = now
        self.run.progress(step, settings.steps, line)

    def _step(self, state: TrainerState) -> int:
        return state.global_step // self.updates
