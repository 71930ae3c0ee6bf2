import pytest
import torch

from apportion.decompose.corpus_methods.objectives import IRCR
from apportion.reward_model.learning.objective import Batch


def test_every_turn_is_drawn_towards_its_dialogue_s_share() -> None:
    batch = Batch(torch.tensor([0, 2, 3]), torch.tensor([2.0, 1.0]), returns=torch.tensor([4.0, -1.0]))
    # R~/T is 2 and -1
    assert IRCR().loss(torch.tensor([1.0, 4.0, 1.0]), batch).tolist() == pytest.approx([1.0, 4.0, 4.0])


def test_it_scores_all_turns_and_says_what_it_is() -> None:
    objective = IRCR()
    assert objective.sample(5, torch.Generator()).tolist() == [0, 1, 2, 3, 4]
    assert objective.name == "IRCR" and not objective.needs_turn_rewards and not objective.hyper_parameters


def test_a_batch_without_returns_is_refused() -> None:
    with pytest.raises(ValueError, match="IRCR needs a batch with returns"):
        IRCR().loss(torch.zeros(1), Batch(torch.tensor([0, 1]), torch.ones(1)))
