"""What PPO raises: rewards of tokens, generalised advantages, and the clipped objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from apportion.rlhf.sampling.rollout import Rollout
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.metrics import masked_mean


def token_rewards(
    scores: Sequence[float],
    divergence: Tensor,
    rollout: Rollout,
    beta: float,
    kl_clip: float | None = None,
    reward_placement: Literal["turn", "response"] = "turn",
) -> Tensor:
    """Rewards [shape=(B, L)] float: the divergence's cost at every token, the scores where turns or responses end.

    ``scores``: one a turn (N), in the order of ``rollout.turn_ends``. ``divergence`` [shape=(B, L)], float: log pi -
    log pi_reference of each sampled token, whose sum over a reply estimates the KL divergence of Eq. 1. ``rollout``:
    the policy's tokens, and where its turns end. ``kl_clip``: largest divergence of a token, either way, that is
    charged for. ``reward_placement``: ``turn`` pays each score at the last token of its turn, ``response`` their sum at
    the response's last token.
    """
    charged = divergence if kl_clip is None else divergence.clamp(-kl_clip, kl_clip)
    rewards = -beta * charged * rollout.mask  # Eq. 1, LLM-GELI
    rows, columns = rollout.turn_ends.unbind(dim=1)
    if reward_placement == "response":
        last = torch.zeros(len(rewards), dtype=torch.int64, device=rewards.device)
        columns = last.scatter_reduce(0, rows, columns, "amax")[rows]
    paid = torch.tensor(scores, dtype=rewards.dtype, device=rewards.device)
    return rewards.index_put((rows, columns), paid, accumulate=True)


class KLControl:
    """The weight of the divergence in the reward, fixed or steered towards a target divergence.

    Source: Ziegler et al., 2019, "Fine-tuning language models from human preferences", section 2.2.
    """

    def __init__(self, settings: AlignSettings, coefficient: float | None = None) -> None:
        self._settings = settings
        self.coefficient = settings.divergence_weight if coefficient is None else coefficient

    def update(self, divergence: float) -> None:
        """Take in a step's mean ``divergence`` (nats a reply); the fixed weight stays."""
        if self._settings.kl_controller == "fixed":
            return
        error = min(max(divergence / self._settings.kl_target - 1, -0.2), 0.2)
        self.coefficient *= 1 + error * self._settings.batch_size / self._settings.kl_horizon


def estimate_advantages(
    rewards: Tensor, values: Tensor, mask: Tensor, gamma: float, gae_lambda: float
) -> tuple[Tensor, Tensor]:
    """Advantages and returns of every token; a response ends with its last masked token, after which nothing is gained.

    Tokens outside the mask are stepped over: between two of the policy's turns the estimate goes from the last token of
    the one to the first of the next, and what the other side says there is neither rewarded nor discounted for.

    ``rewards``, ``values`` [shape=(B, L)], float: reward for each token, and the value of the state before it. ``mask``
    [shape=(B, L)], bool: true for the policy's own tokens. ``gamma``, ``gae_lambda``: discount, and the weight between
    one-step (0) and whole-reply (1) estimates. Returns ``advantages``, ``returns`` [shape=(B, L)], float: zero outside
    the mask.

    Source: Schulman et al., 2016, "High-dimensional continuous control using generalized advantage estimation", Eq. 16.
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


@dataclass(frozen=True)
class PPOLoss:
    """What one minibatch costs: ``total`` is differentiated, the rest is looked at (scalars, float)."""

    total: Tensor
    policy: Tensor
    value: Tensor
    clip_fraction: Tensor


def policy_loss(logp: Tensor, old_logp: Tensor, advantages: Tensor, mask: Tensor, clip: float) -> tuple[Tensor, Tensor]:
    """The clipped surrogate, to be made small, and the share of tokens where the clip holds the gradient back.

    ``logp``, ``old_logp`` [shape=(B, L)], float: log-probability of each reply token now, and when it was sampled.
    ``advantages`` [shape=(B, L)], float: what each token gained. ``mask`` [shape=(B, L)], bool: true for the tokens of
    a reply. ``clip``: range around 1 outside of which a ratio gains nothing more.

    Source: Schulman et al., 2017, "Proximal policy optimization algorithms", Eq. 7.
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

    Source: Schulman et al., 2017, Eq. 9, without the entropy term.
    """
    policy, fraction = policy_loss(logp, old_logp, advantages, mask, clip)
    value = value_loss(values, old_values, returns, mask, value_clip)
    return PPOLoss(policy + value_coefficient * value, policy, value, fraction)


def sampled_divergence(logp: Tensor, old_logp: Tensor, mask: Tensor) -> Tensor:
    """Estimate of KL(old || now) in nats a token, never negative; all [shape=(B, L)].

    Source: Schulman, 2020, "Approximating KL divergence", the estimator k3.
    """
    log_ratio = (logp - old_logp) * mask
    return masked_mean(torch.expm1(log_ratio) - log_ratio, mask)
