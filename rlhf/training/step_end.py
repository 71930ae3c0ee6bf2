"""What follows a step in every training loop: its metrics, alarms, watchers and, every few steps, gold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from apportion.foundation.errors import UnitError
from apportion.rlhf.training.alarms import Alarms, reward_hacking
from apportion.rlhf.training.job import Run

if TYPE_CHECKING:
    from peft import PeftModel


def step_ended(run: Run, alarms: Alarms | None, step: int, measured: Mapping[str, float], model: PeftModel) -> bool:
    """Note what a step measured, and what gold says of the policy after it; whether the training ends here.

    Raises UnitError: an alarm rang for long enough. Watchers have the step's metrics by then.
    """
    if run.gold is not None:
        measured = {**measured, **run.gold.measured(step, model, run.metrics)}
    run.metrics.add(step, measured)
    reason = alarms.check(measured) if alarms else None
    for watcher in run.watch:
        watcher(step, measured)
    if reason:
        raise UnitError(reward_hacking(run.settings, step, reason))
    return run.gold is not None and run.gold.fell(run.metrics)
