"""The trainers of a policy, a row each: what it reads, what it needs, what people are told, where its code is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal


@dataclass(frozen=True)
class Algorithm:
    """One trainer.

    ``name``: As in the settings. ``help``: One line for people. ``train``: ``module:function``, called as ``train(data,
    run)`` with `apportion.rlhf.training_data.TrainingData` and `apportion.rlhf.training.job.Run`; returns the model
    with trained adapters. ``reads``: Which of the settings that not every trainer reads it does read; ``lora.dropout``
    is one of them. ``paper``: Authors and year. ``needs_reward``: Whether a reward has a part in it. ``by_trl``:
    Whether one of TRL's trainers runs it: batches divide evenly, no adapter on lm_head, no DeepSpeed. ``keeps_best``:
    Whether of each group only the best reply is learned from: a micro-batch then holds whole groups.
    """

    name: str
    help: str
    train: str
    reads: frozenset[str]
    paper: str = ""
    needs_reward: bool = True
    by_trl: bool = True
    keeps_best: bool = False

    @property
    def from_record(self) -> bool:
        """Whether it learns from what the targets said, some ``epochs`` of it, and samples no replies."""
        return "epochs" in self.reads

    @property
    def takes_thumbs(self) -> bool:
        """Whether it tells the good among them from the bad: by people's labels, else by the reward."""
        return self.from_record and self.needs_reward


_REWARDED = frozenset(
    (
        "reward",
        "reward_settings",
        "reward_clip",
        "sd_penalty",
        "reward_ensemble",
        "reward_join",
        "penalties",
        "refresh_fit",
        "score_norm",
        "clip",
        "beta",
        "ppo_epochs",
        "prompts",
        "alarms",
        "stop",
    )
)
_MULTI_TURN = frozenset(("max_turns", "partner", "partner_settings", "reward_placement"))
_GROUPS = frozenset(("num_generations", "generation"))
_ENVIRONMENT = frozenset(("environment", "environment_settings", "role_baseline"))
_CRITIC = frozenset(
    (
        *("gae_lambda", "gamma", "kl_clip", "kl_controller", "kl_horizon", "kl_target", "group_by_length"),
        *("pretrain_batch_size", "pretrain_coefficient", "target_kl", "value_clip", "value_coefficient", "value_lr"),
    )
)

ALGORITHMS: dict[str, Algorithm] = {
    row.name: row
    for row in (
        Algorithm(
            "ppo",
            "PPO: rewards by token, values learned beside the policy.",
            "apportion.rlhf.ppo.ppo:train_ppo",
            _REWARDED | _MULTI_TURN | _CRITIC | _ENVIRONMENT | {"generation"},
            paper="Schulman et al., 2017",
            by_trl=False,
        ),
        Algorithm(
            "grpo",
            "GRPO by TRL: several replies to one context are compared.",
            "apportion.rlhf.trainers.grpo_rloo:train_grpo",
            _REWARDED | _MULTI_TURN | _GROUPS | _ENVIRONMENT | frozenset(("scale_rewards",)),
            paper="Shao et al., 2024",
        ),
        Algorithm(
            "rloo",
            "RLOO by TRL: each reply is compared with the others' mean.",
            "apportion.rlhf.trainers.grpo_rloo:train_rloo",
            _REWARDED | _GROUPS | _ENVIRONMENT | {"reward_placement"},
            paper="Ahmadian et al., 2024",
        ),
        Algorithm(
            "raft",
            "RAFT: of several replies to one context the best is learned as in SFT, round after round.",
            "apportion.rlhf.trainers.grpo_rloo:train_raft",
            (_REWARDED - {"clip"}) | _GROUPS,
            paper="Dong et al., 2023",
            keeps_best=True,
        ),
        Algorithm(
            "dpo",
            "DPO by TRL: of several replies to one context the best is preferred to the worst.",
            "apportion.rlhf.trainers.preferences:train_dpo",
            (_REWARDED - {"clip", "ppo_epochs"}) | {"num_generations", "preference_margin"},
            paper="Rafailov et al., 2023",
        ),
        Algorithm(
            "kto",
            "KTO by TRL: what the targets said becomes more likely where it was good, and less where it was bad.",
            "apportion.rlhf.trainers.preferences:train_kto",
            frozenset(
                (
                    *("reward", "reward_settings", "reward_ensemble", "reward_join", "sd_penalty", "score_norm"),
                    *("beta", "stop", "epochs"),
                )
            ),
            paper="Ethayarajh et al., 2024",
        ),
        Algorithm(
            "sft",
            "SFT by TRL: learn what the targets said.",
            "apportion.rlhf.trainers.supervised:train_supervised",
            frozenset(("epochs", "lora.dropout")),
            needs_reward=False,
        ),
    )
}
"""By name; the first one is the default."""

if TYPE_CHECKING:
    AlgorithmName = str
else:
    AlgorithmName = Literal[tuple(ALGORITHMS)]


def listed(names: Iterable[str], last: str = "and") -> str:
    """Names in one text.

    >>> listed(("ppo", "grpo", "rloo"))
    'ppo, grpo and rloo'
    """
    *others, final = names
    return f"{', '.join(others)} {last} {final}" if others else final


def readers(setting: str, last: str = "and") -> str:
    """The trainers that read a setting, in one text."""
    return listed((row.name for row in ALGORITHMS.values() if setting in row.reads), last)


def unrewarded() -> str:
    """The trainers that need no reward, in one text."""
    return listed((row.name for row in ALGORITHMS.values() if not row.needs_reward), "or")
