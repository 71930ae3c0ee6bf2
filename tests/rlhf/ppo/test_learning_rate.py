"""PPO's learning rate, beside the schedules that TRL's trainers take from transformers."""

from __future__ import annotations

import pytest
import torch
from transformers import get_scheduler

from apportion.rlhf.ppo.update import share_of_lr
from apportion.rlhf.settings import AlignSettings


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant"])
@pytest.mark.parametrize("warmup", [None, 4])
def test_it_rises_and_falls_as_that_of_the_trainers(schedule, warmup):
    settings = AlignSettings(steps=12, lr_schedule=schedule, warmup=warmup)
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    name = "constant_with_warmup" if schedule == "constant" else schedule
    theirs = get_scheduler(name, optimizer, num_warmup_steps=warmup or 0, num_training_steps=12)
    for done in range(13):
        assert share_of_lr(settings, done) == pytest.approx(theirs.get_last_lr()[0], abs=1e-12)
        optimizer.step()
        theirs.step()
