import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from peft import PeftModel

from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.ppo.actor_critic import ActorCritic
from apportion.rlhf.ppo.objective import (
    KLControl,
    estimate_advantages,
    policy_loss,
    ppo_loss,
    token_rewards,
    value_loss,
    whiten,
)
from apportion.rlhf.sampling.rollout import Rollout
from apportion.rlhf.settings import AlignSettings
from tests.rlhf.toy import small_policy

NUMBER = st.floats(-5, 5)
REPLIES = st.lists(st.lists(st.tuples(NUMBER, NUMBER), min_size=1, max_size=6), min_size=1, max_size=4)


def padded(rows: list[list[float]], length: int, filler: float) -> torch.Tensor:
    return torch.tensor([row + [filler] * (length - len(row)) for row in rows], dtype=torch.float64)


def scalar_gae(rewards: list[float], values: list[float], gamma: float, lam: float) -> list[float]:
    """The sum of the definition, term by term: A_t = sum_k (gamma lambda)^k delta_(t+k)."""
    following = [*values[1:], 0.0]
    deltas = [r + gamma * n - v for r, n, v in zip(rewards, following, values, strict=True)]
    return [math.fsum((gamma * lam) ** k * delta for k, delta in enumerate(deltas[t:])) for t in range(len(deltas))]


def test_whitening_looks_at_masked_tokens_alone():
    mask = torch.tensor([[True, True, False], [True, False, False]])
    white = whiten(torch.tensor([[1.0, 2.0, 1e6], [6.0, -1e6, 0.0]]), mask)
    assert abs(float(white[mask].mean())) < 1e-6 and abs(float(white[mask].var(unbiased=False)) - 1) < 1e-5
    assert not white[~mask].any()


@given(REPLIES, st.floats(0, 1), st.floats(0, 1), st.randoms())
def test_what_the_other_side_says_in_between_is_stepped_over(replies, gamma, lam, chance):
    """Gaps anywhere in the rows: the policy's tokens get the advantages that they get without gaps."""
    length = 2 * max(len(reply) for reply in replies)
    rewards, values = torch.full((len(replies), length), 99.0), torch.full((len(replies), length), -77.0)
    rewards, values = rewards.double(), values.double()
    mask = torch.zeros(len(replies), length, dtype=torch.bool)
    for row, reply in enumerate(replies):
        places = sorted(chance.sample(range(length), len(reply)))
        mask[row, places] = True
        rewards[row, places], values[row, places] = torch.tensor(reply, dtype=torch.float64).unbind(dim=1)
    advantages, returns = estimate_advantages(rewards, values, mask, gamma, lam)
    for row, reply in enumerate(replies):
        expected = scalar_gae([r for r, _ in reply], [v for _, v in reply], gamma, lam)
        assert advantages[row][mask[row]].tolist() == pytest.approx(expected, abs=1e-9)
        assert returns[row][mask[row]].tolist() == (advantages + values)[row][mask[row]].tolist()
    assert not advantages[~mask].any() and not returns[~mask].any()


@pytest.mark.parametrize(("seen", "factor"), [(6.0, 1.0), (6.6, 1.024), (60.0, 1.048), (5.4, 0.976), (-3.0, 0.952)])
def test_the_adaptive_weight_follows_the_clipped_error(seen, factor):
    # 24 replies of a horizon of 100; the error is held within a fifth either way (Ziegler et al., 2019).
    control = KLControl(AlignSettings(kl_controller="adaptive", kl_target=6.0, kl_horizon=100, beta=0.5))
    control.update(seen)
    assert control.coefficient == pytest.approx(0.5 * factor)


def rollout(mask, ends=None) -> Rollout:
    mask = torch.tensor(mask)
    size = torch.zeros(len(mask), mask.shape[1] + 2, dtype=torch.int64)
    return Rollout(size, torch.ones_like(size), mask, ends=None if ends is None else torch.tensor(ends))


ONE_TURN = rollout([[True, True, True], [True, False, False]])
TURNS = rollout([[True, False, True, True], [True, True, False, False]], [(0, 0), (0, 3), (1, 1)])


def test_rewards_are_the_cost_of_diverging_at_each_token_and_the_score_at_the_last():
    divergence = torch.tensor([[1.0, -2.0, 0.0], [3.0, 9.0, 9.0]])
    found = token_rewards([10.0, 20.0], divergence, ONE_TURN, 0.5)
    assert found.tolist() == [[-0.5, 1.0, 10.0], [18.5, 0.0, 0.0]]


def test_a_token_pays_for_no_more_than_the_clipped_divergence():
    divergence = torch.tensor([[1.0, -2.0, 0.25], [3.0, 9.0, 9.0]])
    found = token_rewards([0.0, 0.0], divergence, ONE_TURN, 1.0, kl_clip=0.5)
    assert found.tolist() == [[-0.5, 0.5, -0.25], [-0.5, 0.0, 0.0]]


def test_each_turn_is_paid_at_its_own_end():
    found = token_rewards([1.0, 2.0, 4.0], torch.zeros(2, 4), TURNS, 0.0)
    assert found.tolist() == [[1.0, 0.0, 0.0, 2.0], [0.0, 4.0, 0.0, 0.0]]


def test_or_all_of_a_response_at_its_end():
    found = token_rewards([1.0, 2.0, 4.0], torch.zeros(2, 4), TURNS, 0.0, reward_placement="response")
    assert found.tolist() == [[0.0, 0.0, 0.0, 3.0], [0.0, 4.0, 0.0, 0.0]]


def test_what_the_other_side_says_costs_nothing():
    found = token_rewards([0.0] * 3, torch.full((2, 4), 8.0), TURNS, 1.0)
    assert found.tolist() == [[-8.0, 0.0, -8.0, -8.0], [-8.0, -8.0, 0.0, 0.0]]


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
