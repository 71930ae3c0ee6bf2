from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.decompose.corpus_methods.objectives import CustomNetwork
from apportion.decompose.corpus_methods.rudder import RUDDER, DialogueTurns, ReturnPredictor
from apportion.decompose.method_settings import RudderSettings
from apportion.reward_model.learning.dataset import EmbeddedTurns
from apportion.reward_model.learning.objective import Batch
from tests.reward_model.tiny import small

RUDDER_OF_GELI = RUDDER(RudderSettings())
dialogues = st.lists(st.lists(st.floats(-5, 5), min_size=1, max_size=6), min_size=1, max_size=4)


def batch(lengths: list[int], returns: list[float]) -> Batch:
    offsets = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()])
    return Batch(offsets, torch.tensor(lengths).double(), torch.tensor(returns, dtype=torch.float64))


@settings(max_examples=40, deadline=None)
@given(dialogues, st.data())
def test_rewards_telescope_to_the_return(predictions: list[list[float]], data: st.DataObject) -> None:
    returns = [data.draw(st.floats(-9, 9)) for _ in predictions]
    whole = batch([len(turns) for turns in predictions], returns)
    predicted = torch.tensor([g for turns in predictions for g in turns], dtype=torch.float64)
    rewards = RUDDER_OF_GELI.rewards(predicted, whole)
    assert whole.sums(rewards).tolist() == pytest.approx(returns, abs=1e-9)
    # Without a score the differences sum to the predicted return.
    rewards = RUDDER_OF_GELI.rewards(predicted, replace(whole, returns=None))
    assert whole.sums(rewards).tolist() == pytest.approx([turns[-1] for turns in predictions], abs=1e-9)


def test_rewards_and_loss_by_hand() -> None:
    # g = 1, 3, 2 and R~ = 5: differences 1, 2, -1, and (5 - 2)/3 = 1 on each
    found = RUDDER_OF_GELI.rewards(torch.tensor([1.0, 3.0, 2.0, 4.0]).double(), batch([3, 1], [5.0, 1.0]))
    assert found.tolist() == pytest.approx([2.0, 3.0, 0.0, 1.0])
    # errors 4, 0, 1: the last, and half of their mean
    found = RUDDER_OF_GELI.loss(torch.tensor([3.0, 1.0, 2.0, 0.0]).double(), batch([3, 1], [1.0, 2.0]))
    assert found.tolist() == pytest.approx([1 + 0.5 * 5 / 3, 4 + 0.5 * 4])
    main = RUDDER(RudderSettings(auxiliary=0.0))
    assert main.loss(torch.tensor([3.0, 1.0, 2.0]).double(), batch([3], [1.0])).tolist() == [1.0]


def test_it_scores_all_turns_and_says_what_it_is() -> None:
    assert RUDDER_OF_GELI.sample(4, torch.Generator()).tolist() == [0, 1, 2, 3]
    assert RUDDER_OF_GELI.hyper_parameters == {"auxiliary": 0.5}
    assert isinstance(RUDDER_OF_GELI, CustomNetwork)


def predictor() -> ReturnPredictor:
    model = ReturnPredictor.new(small(), 4, 0, None, 0.0, 2.0)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        torch.nn.init.normal_(model.head.get_parameter("last.weight"))
    return model.eval()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.data())
def test_some_turns_are_predicted_as_among_all(lengths: list[int], data: st.DataObject) -> None:
    total = sum(lengths)
    embeddings = torch.randn(total, 4, generator=torch.Generator().manual_seed(0))
    offsets = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()])
    turns, model = DialogueTurns(EmbeddedTurns(embeddings), offsets), predictor()
    every = turns.members(model, torch.arange(total))
    alone = torch.cat([model.of_embeddings(embeddings[a:b]) for a, b in itertools.pairwise(offsets)])
    torch.testing.assert_close(every[:, 0], alone)
    chosen = torch.tensor(sorted(data.draw(st.sets(st.integers(0, total - 1), min_size=1))))
    torch.testing.assert_close(turns.members(model, chosen), every[chosen])


def test_a_prediction_does_not_look_ahead() -> None:
    model, embeddings = predictor(), torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    changed = embeddings.clone()
    changed[4:] *= torch.tensor([1.0, -1.0, 1.0, -1.0])
    torch.testing.assert_close(model.of_embeddings(embeddings)[:4], model.of_embeddings(changed)[:4])
    assert not torch.allclose(model.of_embeddings(embeddings)[4:], model.of_embeddings(changed)[4:])
