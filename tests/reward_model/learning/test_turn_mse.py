from __future__ import annotations

import pytest
import torch

from apportion.reward_model.learning.objective import Batch, TurnMSE


def test_equation_5_by_hand() -> None:
    batch = Batch(torch.tensor([0, 2, 3]), torch.tensor([2.0, 1.0]), turn_rewards=torch.tensor([1.0, 0.0, -1.0]))
    terms = TurnMSE().loss(torch.tensor([0.5, 0.0, 1.0]), batch)
    assert terms.tolist() == [0.25, 0.0, 4.0]


def test_every_turn_is_learnt_from() -> None:
    objective = TurnMSE()
    assert objective.sample(3, torch.Generator()).tolist() == [0, 1, 2]
    assert objective.needs_turn_rewards and not objective.hyper_parameters


def test_a_batch_without_turn_rewards_is_refused() -> None:
    with pytest.raises(ValueError, match="turn rewards"):
        TurnMSE().loss(torch.zeros(1), Batch(torch.tensor([0, 1]), torch.ones(1)))
