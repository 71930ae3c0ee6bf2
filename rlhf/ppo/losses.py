"""The clipped objective of PPO."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from apportion.rlhf.training.metrics import masked_mean


@dataclass(frozen=True)
class PPOLoss:
    """What one minibatch costs: ``total`` is differentiated, the rest is looked at (scalars, float)."""

    total: Tensor
    policy: Tensor
    value: Tensor
    clip_fraction: Tensor


def policy_loss(logp: Tensor, old_logp: Tensor, advantages: Tensor, mask: Tensor, clip: float) -> tuple[Tensor, Tensor]:
    """The clipped surrogate, to be made small, and the share of tokens where the clip holds the gradient back.

    Parameters
    ----------
    logp, old_logp : Tensor [shape=(B, L)], float
        Log-probability of each reply token now, and when it was sampled.
    advantages : Tensor [shape=(B, L)], float
        What each token gained.
    mask : Tensor [shape=(B, L)], bool
        True for the tokens of a reply.
    clip : float
        Range around 1 outside of which a ratio gains nothing more.

    References
    ----------
    Schulman et al., 2017, "Proximal policy optimization algorithms", Eq. 7.
    """
    ratio = torch.exp(logp - old_logp)
    free = -advantages * ratio
    clipped = -advantages * ratio.clamp(1 - clip, 1 + clip)
    loss = masked_mean(torch.maximum(free, clipped), mask)  # Eq. 7, Schulman et al. 2017
    return loss, masked_mean((clipped > free).to(logp.dtype), mask)


def value_loss(values: Tensor, old_values: Tensor, returns: Tensor, mask: Tensor, clip: float) -> Tensor:
    """Half the squared error of the values, the worse of it and that of values held within ``clip`` of the old ones."""
    held = old_values + (values - old_values).clamp(-clip, clip)
    return 0.5 * masked_mean(torch.maximum((values - returns) ** 2, (held - returns) ** 2), mask)


def ppo_loss(
    logp: Tensor,
    values: Tensor,
    *,
    old_logp: Tensor,
    old_values: Tensor,
    advantages: Tensor,
    returns: Tensor,
    mask: Tensor,
    clip: float,
    value_clip: float,
    value_coefficient: float,
) -> PPOLoss:
    """The clipped surrogate and the clipped value loss of one minibatch; all tensors have shape (B, L).

    References
    ----------
    Schulman et al., 2017, Eq. 9, without the entropy term.
    """
    policy, fraction = policy_loss(logp, old_logp, advantages, mask, clip)
    value = value_loss(values, old_values, returns, mask, value_clip)
    return PPOLoss(policy + value_coefficient * value, policy, value, fraction)


def sampled_divergence(logp: Tensor, old_logp: Tensor, mask: Tensor) -> Tensor:
    """Estimate of KL(old || now) in nats a token, never negative; all [shape=(B, L)].

    References
    ----------
    Schulman, 2020, "Approximating KL divergence", the estimator k3.
    """
    log_ratio = (logp - old_logp) * mask
    return masked_mean(torch.expm1(log_ratio) - log_ratio, mask)
