"""Tasks whose best policy is known: PPO reaches it from every seed."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import pytest
import torch

from rlhf.history import History
from rlhf.lora import attach_adapter
from rlhf.ppo import PPO
from rlhf.settings import AlarmSettings, AlignSettings, LoraSettings, TinySettings
from rlhf.tiny_policy import build_tiny
from tests.rlhf.toy import chats, contexts

STEPS = 120
SETTINGS = AlignSettings(
    steps=STEPS,
    batch=24,
    minibatch=12,
    lr=5e-3,
    lr_schedule="constant",
    kl_coefficient=0.0,
    max_context_tokens=64,
    max_new_tokens=10,
    temperature=1.0,
    lora=LoraSettings(r=4, alpha=8),
    tiny=TinySettings(hidden=64, layers=2, vocabulary=320, warmup_steps=60, warmup_batch=4),
    alarms=AlarmSettings(length_factor=0, entropy_share=0, repetition_rise=0, max_kl=0),
)
TASKS: dict[str, tuple[Callable[[str], float], float]] = {
    # What is rewarded, and what the best policy earns.
    "prefer a token": (lambda reply: float(reply.startswith("w")), 1.0),
    "prefer short": (lambda reply: -float(len(reply)), 0.0),
    "prefer a polite marker": (lambda reply: float("pleasure" in reply), 1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("task", TASKS)
def test_ppo_goes_nine_tenths_of_the_way_to_the_known_optimum(task, seed):
    score, best = TASKS[task]
    policy = build_tiny(chats(4), SETTINGS, seed, History())
    torch.manual_seed(seed)
    model = attach_adapter(policy.model, SETTINGS.lora)
    ppo = PPO(policy, model, contexts(policy), lambda histories, replies: [score(one) for one in replies], SETTINGS)
    seen: list[float] = []
    for step in range(1, STEPS + 1):
        seen.append(ppo.step(step)["reward"])
        if step > 5 and best - statistics.fmean(seen[-5:]) <= 0.1 * (best - seen[0]):
            break
    assert seen[0] < best - 0.3
    assert best - statistics.fmean(seen[-5:]) <= 0.1 * (best - seen[0]), seen
