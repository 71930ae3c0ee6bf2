"""verl (0.9.1): a reward function, and an advantage estimator with credit by turn. Nothing of verl is imported.

`verl_loop` has verl play whole conversations, and registers the estimator. One answer to a prompt takes this alone::

    reward.custom_reward_function.path=pkg://apportion.rlhf.adapters.verl
    reward.custom_reward_function.name=compute_score
    reward.custom_reward_function.reward_kwargs.source=runs/default/reward_models/llm-seed0
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from apportion.credit import turns_of
from apportion.foundation.errors import InputError
from apportion.rlhf.adapters.scoring import scorer, token_advantages

ESTIMATOR = "apportion_turns"


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    source: str,
    **others: Any,
) -> dict[str, float]:
    """``score``: the reward of one answer, text without roles, to the messages in ``extra_info["prompt"]``.

    verl makes an array of each value over the batch, so that rewards of several turns cannot be handed over here.
    ``source``: As in `apportion.rlhf.adapters.scoring.scorer`. Raises InputError: no prompt in the row.
    """
    prompt = (extra_info or {}).get("prompt")
    if prompt is None:
        raise InputError(
            f"data source {data_source!r}: a row without extra_info.prompt, so that what is answered is not known. "
            "Write the rows with `apportion export --for verl`."
        )
    (turns,) = scorer(source).turns([list(prompt)], [solution_str])
    return {"score": float(sum(turns.advantage))}


def turn_credit(
    token_level_rewards: Tensor, response_mask: Tensor, index: Sequence[Any], config: Any = None, **others: Any
) -> tuple[Tensor, Tensor]:
    """Advantages and returns (both the advantages, [shape=(B, T)]), as ``algorithm.adv_estimator=apportion_turns``.

    Each run of tokens that the policy wrote is a turn, paid what lies on its tokens (a divergence's cost, too), and
    compared with the other rollouts of its prompt by `apportion.credit.leave_one_out`. A rollout that is left alone of
    its group has advantage 0. ``index``: The group of each row. ``config``: verl's, whose ``gamma`` discounts from turn
    to turn.

    Raises InputError: every rollout is alone.
    """
    found, turn_of = torch.zeros_like(token_level_rewards), [turns_of(of) for of in response_mask.cpu().numpy()]
    rewards = [_of_turns(paid, of) for paid, of in zip(token_level_rewards.cpu().numpy(), turn_of, strict=True)]
    groups: dict[Any, list[int]] = defaultdict(list)
    for row, group in enumerate(index):
        groups[group].append(row)
    compared = [rows for rows in groups.values() if len(rows) > 1]
    if not compared:
        raise InputError(
            "every prompt has one rollout, to compare with nothing. Set actor_rollout_ref.rollout.n to 2+."
        )
    gamma = 1.0 if config is None else float(config.get("gamma", 1.0))
    for rows in compared:
        by_token = token_advantages([rewards[row] for row in rows], [turn_of[row] for row in rows], gamma)
        found[rows] = torch.from_numpy(np.stack(by_token)).to(found)
    return found, found


def _of_turns(paid: np.ndarray[Any, Any], turn_of: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    said = turn_of >= 0
    return np.bincount(turn_of[said], weights=paid[said].astype(np.float64))
