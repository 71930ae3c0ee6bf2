"""From scores of turns and the divergence of tokens to a reward for every token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from apportion.rlhf.sampling.rollout import Rollout


def token_rewards(
    scores: Sequence[float],
    divergence: Tensor,
    rollout: Rollout,
    beta: float,
    kl_clip: float | None = None,
    reward_placement: Literal["turn", "response"] = "turn",
) -> Tensor:
    """Rewards [shape=(B, L)] float: the divergence's cost at every token, the scores where turns or responses end.

    Parameters
    ----------
    scores : sequence of float
        One a turn (N), in the order of ``rollout.turn_ends``.
    divergence : Tensor [shape=(B, L)], float
        log pi - log pi_reference of each sampled token, whose sum over a reply estimates the KL divergence of Eq. 1.
    rollout : Rollout
        The policy's tokens, and where its turns end.
    beta : float
        What a nat costs.
    kl_clip : float or None
        Largest divergence of a token, either way, that is charged for.
    reward_placement : str
        ``turn`` pays each score at the last token of its turn, ``response`` their sum at the response's last token.
    """
    charged = divergence if kl_clip is None else divergence.clamp(-kl_clip, kl_clip)
    rewards = -beta * charged * rollout.mask  # Eq. 1, LLM-GELI
    rows, columns = rollout.turn_ends.unbind(dim=1)
    if reward_placement == "response":
        last = torch.zeros(len(rewards), dtype=torch.int64, device=rewards.device)
        columns = last.scatter_reduce(0, rows, columns, "amax")[rows]
    paid = torch.tensor(scores, dtype=rewards.dtype, device=rewards.device)
    return rewards.index_put((rows, columns), paid, accumulate=True)
