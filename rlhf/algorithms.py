"""The algorithms of an alignment, and which settings each of them reads."""

from __future__ import annotations

from typing import Literal, get_args

Algorithm = Literal["ppo", "grpo", "rloo", "sft"]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)

_SAMPLING: tuple[Algorithm, ...] = ("ppo", "grpo", "rloo")
READ_BY: dict[str, tuple[Algorithm, ...]] = {
    "reward": _SAMPLING,
    "reward_settings": _SAMPLING,
    "reward_clip": _SAMPLING,
    "score_norm": _SAMPLING,
    "clip": _SAMPLING,
    "beta": _SAMPLING,
    "ppo_epochs": _SAMPLING,
    "prompts": _SAMPLING,
    "max_turns": ("ppo", "grpo"),
    "partner": ("ppo", "grpo"),
    "partner_settings": ("ppo", "grpo"),
    "reward_placement": ("ppo", "grpo"),
    "alarms": _SAMPLING,
    "epochs": ("sft",),
    "environment": ("grpo",),
    "environment_settings": ("grpo",),
    "num_generations": ("grpo", "rloo"),
    "generation": ("grpo", "rloo"),
    **dict.fromkeys(
        (
            "gae_lambda", "gamma", "kl_clip", "kl_controller", "kl_horizon", "kl_target",
            "group_by_length", "pretrain_batch_size", "pretrain_coefficient", "target_kl", "value_clip",
            "value_coefficient", "value_lr",
        ),
        ("ppo",),
    ),
}  # fmt: skip
"""Settings that not every algorithm reads, and which do."""
