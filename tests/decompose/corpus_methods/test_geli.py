from __future__ import annotations

import math

import pytest
import torch

from apportion.decompose.corpus_methods.objectives import GELI, IRCR, RRD
from apportion.decompose.corpus_methods.rudder import RUDDER
from apportion.decompose.method_settings import GELISettings, RRDSettings, RudderSettings
from apportion.reward_model.learning.objective import Batch

HALVES = GELISettings()
OF_RRD = GELI(RRD(RRDSettings(k=8)), HALVES)


def batch(turn_rewards: list[float] | None, returns: list[float] | None = None) -> Batch:
    """A dialogue of two turns and one of one."""
    return Batch(
        torch.tensor([0, 2, 3]),
        torch.tensor([2.0, 1.0]),
        torch.tensor(returns or [4.0, -1.0]),
        None if turn_rewards is None else torch.tensor(turn_rewards),
    )


def test_by_hand_with_rrd() -> None:
    # global (2.5 - 2)^2 and (1 + 1)^2; local (1 + 9)/2 and 1
    found = OF_RRD.loss(torch.tensor([1.0, 4.0, 1.0]), batch([0.0, 1.0, 2.0]))
    assert found.tolist() == pytest.approx([0.5 * 0.25 + 0.5 * 5.0, 0.5 * 4.0 + 0.5 * 1.0])


def test_by_hand_with_ircr() -> None:
    # one global term a turn, 1 and 4 and 4; their mean over the dialogue counts
    found = GELI(IRCR(), GELISettings(weight=0.25)).loss(torch.tensor([1.0, 4.0, 1.0]), batch([0.0, 1.0, 2.0]))
    assert found.tolist() == pytest.approx([0.25 * 2.5 + 0.75 * 5.0, 0.25 * 4.0 + 0.75 * 1.0])


def test_by_hand_with_rudder_the_local_values_are_of_rewards() -> None:
    # g = 1, 4 and R~ = 4: r = 1, 3; g = 1 and R~ = -1: r = -1
    found = GELI(RUDDER(RudderSettings()), HALVES).loss(torch.tensor([1.0, 4.0, 1.0]), batch([0.0, 1.0, 2.0]))
    assert found.tolist() == pytest.approx([0.5 * (0.5 * 4.5) + 0.5 * 2.5, 0.5 * (4 + 0.5 * 4) + 0.5 * 9.0])


def test_turns_without_a_local_value_add_nothing_not_even_to_the_gradient() -> None:
    predicted = torch.tensor([1.0, 4.0, 1.0], requires_grad=True)
    terms = OF_RRD.loss(predicted, batch([0.0, math.nan, math.nan]))
    assert terms.tolist() == pytest.approx([0.5 * 0.25 + 0.5 * 1.0, 0.5 * 4.0])
    terms.sum().backward()
    assert predicted.grad is not None and torch.isfinite(predicted.grad).all()


def test_the_weights_of_one_part_alone() -> None:
    predicted, full = torch.tensor([1.0, 4.0, 1.0]), batch([0.0, 1.0, 2.0])
    alone = GELI(OF_RRD.whole, GELISettings(weight=1.0)).loss(predicted, full)
    torch.testing.assert_close(alone, OF_RRD.whole.loss(predicted, full))
    local = GELI(OF_RRD.whole, GELISettings(weight=0.0)).loss(predicted, full)
    assert local.tolist() == pytest.approx([5.0, 1.0])


def test_it_samples_as_its_global_part_and_says_what_it_is() -> None:
    draw = [objective.sample(30, torch.Generator().manual_seed(1)).tolist() for objective in (OF_RRD, OF_RRD.whole)]
    assert draw[0] == draw[1] and len(draw[0]) == 8
    assert OF_RRD.name == "GELI (RRD)" and OF_RRD.needs_turn_rewards
    assert OF_RRD.hyper_parameters == {"weight": 0.5, "k": 8, "corrected": True}


def test_a_batch_without_turn_rewards_is_refused() -> None:
    with pytest.raises(ValueError, match="GELI needs a batch with turn rewards"):
        OF_RRD.loss(torch.zeros(3), batch(None))
