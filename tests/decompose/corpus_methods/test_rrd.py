from __future__ import annotations

import math
from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from apportion.decompose.corpus_methods.objectives import GELI, IRCR, RRD
from apportion.decompose.corpus_methods.rudder import RUDDER
from apportion.decompose.method_settings import GELISettings, RRDSettings, RudderSettings
from apportion.foundation.errors import InputError
from apportion.reward_model.learning.objective import Batch

rewards = st.lists(st.floats(-5, 5), min_size=2, max_size=7)


def of(k: int, corrected: bool) -> RRD:
    return RRD(RRDSettings(k=k, corrected=corrected))


def loss(objective: RRD, chosen: list[float], length: int, score: float) -> float:
    batch = Batch(
        torch.tensor([0, len(chosen)]),
        torch.tensor([length], dtype=torch.float64),
        returns=torch.tensor([score], dtype=torch.float64),
    )
    return objective.loss(torch.tensor(chosen, dtype=torch.float64), batch).item()


def over_all_subsets(objective: RRD, values: list[float], score: float) -> float:
    k = min(objective.settings.k, len(values))
    found = [loss(objective, list(subset), len(values), score) for subset in combinations(values, k)]
    return sum(found) / len(found)


@given(rewards, st.integers(2, 7), st.floats(-5, 5))
def test_the_corrected_loss_is_the_full_loss_in_expectation(values: list[float], k: int, score: float) -> None:
    full = (sum(values) / len(values) - score / len(values)) ** 2
    assert over_all_subsets(of(k, True), values, score) == pytest.approx(full, rel=1e-6, abs=1e-8)


@given(rewards, st.integers(1, 7), st.floats(-5, 5))
def test_the_biased_loss_is_too_large_by_the_variance_of_the_sampled_mean(
    values: list[float], k: int, score: float
) -> None:
    full = (sum(values) / len(values) - score / len(values)) ** 2
    means = [sum(subset) / len(subset) for subset in combinations(values, min(k, len(values)))]
    variance = float(torch.tensor(means, dtype=torch.float64).var(correction=0))
    assert over_all_subsets(of(k, False), values, score) == pytest.approx(full + variance, rel=1e-6, abs=1e-8)


def test_by_hand() -> None:
    # mean 2, R~/T = 1: biased 1; s2 = 2, so the correction is 2/2 * (1 - 2/4) = 0.5
    assert loss(of(2, False), [1.0, 3.0], 4, 4.0) == pytest.approx(1.0)
    assert loss(of(2, True), [1.0, 3.0], 4, 4.0) == pytest.approx(0.5)


def test_a_term_pulls_the_mean_towards_the_return_and_nothing_apart() -> None:
    predicted = torch.tensor([1.0, 3.0], requires_grad=True)
    batch = Batch(torch.tensor([0, 2]), torch.tensor([2.0]), returns=torch.tensor([4.0]))
    of(8, True).loss(predicted, batch).sum().backward()
    assert predicted.grad is not None and predicted.grad.tolist() == [0.0, 0.0]


@given(st.integers(1, 40), st.integers(2, 12), st.integers(0, 9))
def test_turns_are_drawn_without_replacement(length: int, k: int, seed: int) -> None:
    def draw() -> Tensor:
        return of(k, True).sample(length, torch.Generator().manual_seed(seed))

    chosen = draw().tolist()
    assert len(chosen) == len(set(chosen)) == min(k, length)
    assert chosen == sorted(chosen) and chosen[0] >= 0 and chosen[-1] < length
    assert chosen == draw().tolist()


def test_every_turn_is_drawn_alike_often() -> None:
    generator = torch.Generator().manual_seed(0)
    drawn = torch.cat([of(3, True).sample(6, generator) for _ in range(4000)])
    counts = torch.bincount(drawn, minlength=6).float() / 4000
    torch.testing.assert_close(counts, torch.full((6,), 0.5), atol=0.04, rtol=0)


def test_one_turn_or_none_with_a_reward_is_told() -> None:
    with pytest.raises(InputError, match="k = 1 with corrected = true"):
        of(1, True)
    assert of(1, False).settings.k == 1
    with pytest.raises(ValueError, match="GELI needs a batch with turn rewards"):
        OF_RRD.loss(torch.zeros(3), batch(None))


@pytest.mark.parametrize("objective", [RRD(RRDSettings(k=2)), IRCR(), RUDDER(RudderSettings())])
def test_a_batch_without_returns_is_refused(objective) -> None:
    with pytest.raises(ValueError, match=f"{objective.name} needs a batch with returns"):
        objective.loss(torch.zeros(1), Batch(torch.tensor([0, 1]), torch.ones(1)))


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


def test_terms_by_hand() -> None:
    # global (2.5 - 2)^2 and (1 + 1)^2; local (1 + 9)/2 and 1
    found = OF_RRD.loss(torch.tensor([1.0, 4.0, 1.0]), batch([0.0, 1.0, 2.0]))
    assert found.tolist() == pytest.approx([0.5 * 0.25 + 0.5 * 5.0, 0.5 * 4.0 + 0.5 * 1.0])
    # one global term a turn, 1 and 4 and 4; their mean over the dialogue counts
    found = GELI(IRCR(), GELISettings(weight=0.25)).loss(torch.tensor([1.0, 4.0, 1.0]), batch([0.0, 1.0, 2.0]))
    assert found.tolist() == pytest.approx([0.25 * 2.5 + 0.75 * 5.0, 0.25 * 4.0 + 0.75 * 1.0])
    # g = 1, 4 and R~ = 4: r = 1, 3; g = 1 and R~ = -1: r = -1
    found = GELI(RUDDER(RudderSettings()), HALVES).loss(torch.tensor([1.0, 4.0, 1.0]), batch([0.0, 1.0, 2.0]))
    assert found.tolist() == pytest.approx([0.5 * (0.5 * 4.5) + 0.5 * 2.5, 0.5 * (4 + 0.5 * 4) + 0.5 * 9.0])


def test_the_parts_add_up_and_unknown_local_values_add_nothing() -> None:
    predicted = torch.tensor([1.0, 4.0, 1.0], requires_grad=True)
    terms = OF_RRD.loss(predicted, batch([0.0, math.nan, math.nan]))
    assert terms.tolist() == pytest.approx([0.5 * 0.25 + 0.5 * 1.0, 0.5 * 4.0])
    terms.sum().backward()
    assert predicted.grad is not None and torch.isfinite(predicted.grad).all()
    predicted, full = torch.tensor([1.0, 4.0, 1.0]), batch([0.0, 1.0, 2.0])
    alone = GELI(OF_RRD.whole, GELISettings(weight=1.0)).loss(predicted, full)
    torch.testing.assert_close(alone, OF_RRD.whole.loss(predicted, full))
    local = GELI(OF_RRD.whole, GELISettings(weight=0.0)).loss(predicted, full)
    assert local.tolist() == pytest.approx([5.0, 1.0])


def test_it_samples_as_its_global_part_and_says_what_it_is() -> None:
    draw = [objective.sample(30, torch.Generator().manual_seed(1)).tolist() for objective in (OF_RRD, OF_RRD.whole)]
    assert draw[0] == draw[1] and len(draw[0]) == 8
    assert OF_RRD.name == "GELI (RRD)"
    assert OF_RRD.hyper_parameters == {"weight": 0.5, "k": 8, "corrected": True}


def test_ircr_scores_all_turns_and_draws_each_towards_its_dialogue_s_share() -> None:
    batch = Batch(torch.tensor([0, 2, 3]), torch.tensor([2.0, 1.0]), returns=torch.tensor([4.0, -1.0]))
    # R~/T is 2 and -1
    assert IRCR().loss(torch.tensor([1.0, 4.0, 1.0]), batch).tolist() == pytest.approx([1.0, 4.0, 4.0])
    objective = IRCR()
    assert objective.sample(5, torch.Generator()).tolist() == [0, 1, 2, 3, 4]
    assert objective.name == "IRCR" and not objective.hyper_parameters
