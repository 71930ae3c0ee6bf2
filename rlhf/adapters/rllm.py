"""rLLM (source of August 2026; not on PyPI): ``step.advantage`` of a trajectory's steps. Nothing of it is imported.

In a workflow, before the episode is returned, with ``rllm.algorithm.use_precomputed_advantage=true``::

    set_advantages(scorer("runs/default/reward_models/llm-seed0"), trajectory)
"""

from __future__ import annotations

from typing import Any

from apportion.credit import rewards_to_go
from apportion.rlhf.adapters.scoring import Scorer


def set_advantages(judge: Scorer, trajectory: Any, gamma: float = 1.0) -> None:
    """Write each step's ``reward`` (what its turn is paid) and ``advantage`` (the return from it on).

    A step's ``chat_completions`` end with what the model said in it; rLLM lays the one number on all its tokens. A
    workflow sees no other rollout to compare with: a reward model's advantages are what is left of r_theta without what
    the state foretells.
    """
    asked = [step.chat_completions[:-1] for step in trajectory.steps]
    turns = judge.turns(asked, [step.chat_completions[-1:] for step in trajectory.steps])
    rewards = [sum(of.advantage) for of in turns]
    for step, reward, advantage in zip(trajectory.steps, rewards, rewards_to_go(rewards, gamma).tolist(), strict=True):
        step.reward, step.advantage = reward, advantage
