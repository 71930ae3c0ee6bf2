from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from apportion.foundation.errors import UnitError
from apportion.rlhf.trainers.running import StepCallback
from apportion.rlhf.training.job import Run
from tests.rlhf.toy import SMALL


class Fixed:
    """Measures the same every step."""

    def step_metrics(self, logs):
        replies = {"response_tokens": 3.0, "repetition": 0.0, "sameness": 0.5, "entropy": 2.0}
        return {"reward": 1.0, "kl": 0.0, "policy_loss": 0.5, **replies}

    def own_state(self):
        return None

    def load_own_state(self, state):
        pass


def callback(**others):
    run = Run(SMALL.model_copy(update={"algorithm": "grpo"}), 0, **others)
    return run, StepCallback(run, Fixed(), checkpoints=None)


@pytest.mark.parametrize(
    ("logs", "told"),
    [
        ({"loss": math.nan}, "GRPO step 3: the loss is nan; it must be a finite number. Lower lr"),
        ({"loss": 0.1, "grad_norm": math.inf}, "GRPO step 3: the gradient's norm is inf"),
    ],
)
def test_a_loss_or_gradient_that_is_no_number_stops_the_run(logs, told):
    with pytest.raises(UnitError, match=told):
        callback()[1].on_log(None, SimpleNamespace(global_step=12), None, logs=logs)


def test_a_step_is_noted_watched_and_told_and_the_trainers_last_words_are_not_a_step():
    seen, lines = [], []
    run, made = callback(watch=(lambda step, metrics: seen.append(step),), progress=lambda *told: lines.append(told))
    made.on_log(None, SimpleNamespace(global_step=4), None, logs={"loss": 0.1, "grad_norm": 1.0})
    made.on_log(None, SimpleNamespace(global_step=4), None, logs={"train_runtime": 1.0})
    made.on_log(None, SimpleNamespace(global_step=4), None)
    assert seen == [1] and run.metrics.at(1)["reward"] == 1.0
    ((done, total, line),) = lines
    assert (done, total) == (1, 2)
    assert line.startswith("GRPO step 1: reward 1.000, KL 0.00, 3.0 tokens, entropy 2.00, ") and "samples/s" in line
