from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from apportion.reward_model.learning.objective import Batch, TurnMSE


def test_sums_and_counts_follow_the_offsets() -> None:
    batch = Batch(torch.tensor([0, 1, 3]), torch.tensor([4.0, 2.0]))
    assert batch.counts.tolist() == [1.0, 2.0]
    assert batch.episode.tolist() == [0, 1, 1]
    assert batch.sums(torch.tensor([1.0, 2.0, 3.0])).tolist() == [1.0, 5.0]


@given(st.lists(st.lists(st.floats(-10, 10), min_size=1, max_size=6), min_size=1, max_size=6))
def test_sums_equal_each_episodes_own(episodes: list[list[float]]) -> None:
    offsets = torch.tensor([0, *torch.tensor([len(e) for e in episodes]).cumsum(0).tolist()])
    batch = Batch(offsets, batch_lengths(episodes))
    flat = torch.tensor([x for e in episodes for x in e], dtype=torch.float64)
    torch.testing.assert_close(batch.sums(flat), torch.tensor([sum(e) for e in episodes], dtype=torch.float64))


def batch_lengths(episodes: list[list[float]]) -> torch.Tensor:
    return torch.tensor([float(len(e)) for e in episodes])


def test_equation_5_by_hand() -> None:
    batch = Batch(torch.tensor([0, 2, 3]), torch.tensor([2.0, 1.0]), turn_rewards=torch.tensor([1.0, 0.0, -1.0]))
    terms = TurnMSE().loss(torch.tensor([0.5, 0.0, 1.0]), batch)
    assert terms.tolist() == [0.25, 0.0, 4.0]


def test_every_turn_is_learnt_from() -> None:
    objective = TurnMSE()
    assert objective.sample(3, torch.Generator()).tolist() == [0, 1, 2]
    assert not objective.hyper_parameters


def test_a_batch_without_turn_rewards_is_refused() -> None:
    with pytest.raises(ValueError, match="turn rewards"):
        TurnMSE().loss(torch.zeros(1), Batch(torch.tensor([0, 1]), torch.ones(1)))
