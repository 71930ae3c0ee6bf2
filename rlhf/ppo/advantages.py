"""Generalised advantage estimation over the tokens of replies."""

from __future__ import annotations

import torch
from torch import Tensor


def estimate_advantages(
    rewards: Tensor, values: Tensor, mask: Tensor, gamma: float, gae_lambda: float
) -> tuple[Tensor, Tensor]:
    """Advantages and returns of every token; a response ends with its last masked token, after which nothing is gained.

    Tokens outside the mask are stepped over: between two of the policy's turns the estimate goes from the last token of
    the one to the first of the next, and what the other side says there is neither rewarded nor discounted for.

    Parameters
    ----------
    rewards, values : Tensor [shape=(B, L)], float
        Reward for each token, and the value of the state before it.
    mask : Tensor [shape=(B, L)], bool
        True for the policy's own tokens.
    gamma, gae_lambda : float
        Discount, and the weight between one-step (0) and whole-reply (1) estimates.

    Returns
    -------
    advantages, returns : Tensor [shape=(B, L)], float
        Zero outside the mask.

    References
    ----------
    Schulman et al., 2016, "High-dimensional continuous control using generalized advantage estimation", Eq. 16.
    """
    # The policy's tokens first, in their order: one row of steps without gaps.
    order = torch.argsort((~mask).to(torch.uint8), dim=1, stable=True)
    rewards, values = (rewards * mask).gather(1, order), (values * mask).gather(1, order)
    advantages = torch.zeros_like(values)
    following = torch.zeros_like(values[:, 0])
    next_value = torch.zeros_like(following)
    for t in reversed(range(values.shape[1])):
        delta = rewards[:, t] + gamma * next_value - values[:, t]  # Eq. 12, Schulman et al. 2016
        following = delta + gamma * gae_lambda * following  # Eq. 16, Schulman et al. 2016
        advantages[:, t] = following
        next_value = values[:, t]
    back = torch.argsort(order, dim=1)
    advantages, values = advantages.gather(1, back) * mask, values.gather(1, back)
    return advantages, (advantages + values) * mask


def whiten(values: Tensor, mask: Tensor) -> Tensor:
    """``values`` [shape=(B, L)] with mean 0 and variance 1 over the masked tokens, 0 elsewhere."""
    masked = values[mask]
    scale = torch.rsqrt(masked.var(unbiased=False) + 1e-8)
    return (values - masked.mean()) * scale * mask
