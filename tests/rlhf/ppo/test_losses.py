"""The clipped objective on an enumerable policy: 3 tokens, replies of 2, all 9 of them at once, in float64."""

from __future__ import annotations

import itertools

import pytest
import torch
from peft import PeftModel

from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.ppo.actor_critic import ActorCritic
from apportion.rlhf.ppo.advantages import estimate_advantages
from apportion.rlhf.ppo.losses import policy_loss, ppo_loss, value_loss
from apportion.rlhf.sampling.rollout import Rollout
from tests.rlhf.toy import small_policy

ONES = torch.ones(1, 1, dtype=torch.bool)


def at(number: float) -> torch.Tensor:
    return torch.tensor([[number]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "held"),
    [(1.5, 1.0, -1.2, 1.0), (0.5, 1.0, -0.5, 0.0), (1.5, -1.0, 1.5, 0.0), (0.5, -1.0, 0.8, 1.0), (1.1, 2.0, -2.2, 0.0)],
)
def test_the_surrogate_is_clipped_on_the_side_that_gains(ratio, advantage, loss, held):
    found, fraction = policy_loss(at(ratio).log(), at(1.0).log(), at(advantage), ONES, 0.2)
    assert float(found) == pytest.approx(loss)
    assert float(fraction) == held


@pytest.mark.parametrize(("value", "loss"), [(0.1, 0.5 * 0.81), (0.9, 0.5 * 0.64), (1.5, 0.5 * 0.64), (-3.0, 8.0)])
def test_the_value_loss_is_the_worse_of_the_free_and_the_held_value(value, loss):
    assert float(value_loss(at(value), at(0.0), at(1.0), ONES, 0.2)) == pytest.approx(loss)


def test_tokens_outside_the_mask_cost_nothing():
    mask = torch.tensor([[True, False]])
    logp, advantages = torch.tensor([[-1.0, -9.0]]), torch.tensor([[2.0, 1e6]])
    loss, fraction = policy_loss(logp, torch.tensor([[-1.0, 0.0]]), advantages, mask, 0.2)
    assert (float(loss), float(fraction)) == (-2.0, 0.0)


def actor_and_every_reply() -> tuple[ActorCritic, Rollout]:
    policy = small_policy(dtype=torch.float64)
    # transformers' own RMSNorm computes in float32, whose rounding would drown a finite difference.
    for parent in [policy.model.model, *policy.model.model.layers]:
        for name in ("norm", "input_layernorm", "post_attention_layernorm"):
            if hasattr(parent, name):
                setattr(parent, name, torch.nn.RMSNorm(32, eps=1e-6, dtype=torch.float64))
    model = attach_adapter(policy.model, LoraSettings(r=2, alpha=4, dropout=0.0))
    torch.manual_seed(1)
    # Off zero, so that every adapter weight has a gradient.
    for weight in model.parameters():
        if weight.requires_grad:
            weight.data = torch.randn_like(weight, dtype=torch.float64) * 0.3
    actor = ActorCritic(model, temperature=0.8)
    torch.nn.init.normal_(actor.value_head.out.weight, std=0.3)
    # Three tokens may be said: every reply of two of them, in one batch. The prompts are unequal and left-padded.
    replies = torch.tensor(list(itertools.product((5, 6, 7), repeat=2)))
    prompts = torch.tensor([[0, 1, 9], [1, 8, 9], [0, 0, 9]] * 3)
    attention = torch.cat([(prompts != 0).long(), torch.ones_like(replies)], dim=1)
    mask = torch.ones_like(replies, dtype=torch.bool)
    mask[4, 1] = mask[7, 1] = False
    return actor.eval(), Rollout(torch.cat([prompts, replies], dim=1), attention, mask)


def test_the_gradient_of_a_ppo_step_equals_finite_differences():
    actor, rollout = actor_and_every_reply()
    with torch.no_grad():
        now = actor(rollout)
    shift = torch.linspace(-0.6, 0.6, now.logp.numel(), dtype=torch.float64).reshape(now.logp.shape)
    old_logp, old_values = now.logp + shift, now.values - shift
    rewards = torch.sin(torch.arange(18, dtype=torch.float64)).reshape(9, 2)
    advantages, returns = estimate_advantages(rewards, old_values, rollout.mask, 1.0, 0.95)

    def loss() -> torch.Tensor:
        stats = actor(rollout)
        parts = ppo_loss(
            stats.logp,
            stats.values,
            old_logp=old_logp,
            old_values=old_values,
            advantages=advantages,
            returns=returns,
            mask=rollout.mask,
            clip=0.2,
            value_clip=0.2,
            value_coefficient=0.1,
        )
        assert 0 < float(parts.clip_fraction) < 1
        return parts.total

    weights = [weight for weight in actor.parameters() if weight.requires_grad]
    found = torch.autograd.grad(loss(), weights)
    assert all(float(gradient.abs().max()) > 0 for gradient in found)
    for weight, gradient in zip(weights, found, strict=True):
        for place in torch.linspace(0, weight.numel() - 1, 3).long().unique().tolist():
            assert float(gradient.flatten()[place]) == pytest.approx(difference(loss, weight, place), abs=1e-8)


def difference(loss, weight: torch.nn.Parameter, place: int, step: float = 1e-5) -> float:
    flat = weight.data.view(-1)
    here = float(flat[place])
    with torch.no_grad():
        flat[place] = here + step
        above = float(loss())
        flat[place] = here - step
        below = float(loss())
        flat[place] = here
    return (above - below) / (2 * step)


def test_at_ratio_one_the_gradient_is_that_of_the_expected_reward():
    """All replies weighted by their probability, the reward as advantage: minus the gradient of the exact mean."""
    actor, rollout = actor_and_every_reply()
    prompts = torch.tensor([[0, 1, 9]] * 9)
    tokens = torch.cat([prompts, rollout.replies], dim=1)
    mask = torch.ones(9, 2, dtype=torch.bool)
    whole = Rollout(tokens, torch.cat([(prompts != 0).long(), mask.long()], dim=1), mask)
    rewards = torch.cos(torch.arange(9, dtype=torch.float64))
    weights = [w for name, w in actor.named_parameters() if w.requires_grad and "value_head" not in name]

    logp = actor(whole).logp
    probability = logp.sum(dim=1).exp()
    exact = torch.autograd.grad((probability * rewards).sum(), weights)

    logp = actor(whole).logp
    weighted = (rewards * probability.detach()).unsqueeze(1).expand(9, 2)
    loss, _ = policy_loss(logp, logp.detach(), weighted, mask, 0.2)
    found = torch.autograd.grad(loss * mask.sum(), weights)
    for one, other in zip(found, exact, strict=True):
        torch.testing.assert_close(one, -other, rtol=1e-9, atol=1e-12)
    assert isinstance(actor.model, PeftModel)
