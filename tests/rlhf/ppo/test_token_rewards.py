from __future__ import annotations

import torch

from apportion.rlhf.ppo.token_rewards import token_rewards
from apportion.rlhf.sampling.rollout import Rollout


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
