from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from apportion.decompose.shapley.coalitions import all_coalitions, complements, paired
from apportion.decompose.shapley.kriging import VariogramFit, _Design, krige
from apportion.decompose.shapley.value_function import NoisyValueFunction, ask
from apportion.decompose.shapley.values import MORE, default_budget, shapley_values
from tests.decompose.shapley.test_values import pairwise, saturating


def by_sets(members: NDArray[np.bool_], rough: VariogramFit) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Covariances of odd parts, and of values with them, summed over every set of 3, 5, … players."""
    pairs, players = members.shape
    between, of_values = np.zeros((pairs, pairs)), np.zeros((players, pairs))
    for order, variance in rough.orders(players):
        sets = list(combinations(range(players), order))
        for chosen in sets:
            signs = np.prod(np.where(members[:, chosen], -1.0, 1.0), axis=1)
            between += variance / len(sets) * np.outer(signs, signs)
            of_values[list(chosen)] -= 2 / order * variance / len(sets) * signs
    return between, of_values


@settings(max_examples=15, deadline=None)
@given(st.integers(3, 8), st.integers(0, 10**6), st.sampled_from([0.1, 0.4, 1.0]))
def test_covariances_are_those_of_all_interactions(players: int, seed: int, decay: float) -> None:
    members = np.random.default_rng(seed).random((12, players)) < 0.5
    rough = VariogramFit(2.0, decay)
    design = _Design(members, np.where(members, -1.0, 1.0))
    between, of_values = by_sets(members, rough)
    np.testing.assert_allclose(design.between(rough), between, atol=1e-12)
    np.testing.assert_allclose(design.of_values(rough), of_values, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.integers(7, 14), st.integers(0, 10**6))
def test_values_are_exact_for_pairs_and_sum_to_what_is_added_whatever_the_noise(players: int, seed: int) -> None:
    drawn = paired(players, default_budget(players), seed).members
    first, second = complements(drawn)
    game = pairwise(players, seed)
    worth = np.array([game(frozenset(np.flatnonzero(row).tolist())) for row in drawn])
    odd = (worth[first] - worth[second]) / 2
    found = krige(drawn[first], odd, np.full(len(first), 0.3))
    whole = drawn[first].all(axis=1)
    np.testing.assert_allclose(found.linear.sum(axis=0), 2.0 * whole, atol=1e-9)
    np.testing.assert_allclose(found.linear @ np.where(drawn[first], -1.0, 1.0), -2 * np.eye(players), atol=1e-9)
    exact = shapley_values(game, players, budget=2**players).values
    np.testing.assert_allclose(found.linear @ odd, exact, atol=1e-7)
    assert (found.structure >= 0).all()


def test_a_pair_has_both_and_what_has_no_other_half_is_left_out() -> None:
    members = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 1], [1, 1, 0], [1, 1, 1]], dtype=bool)
    first, second = complements(members)
    assert (first.tolist(), second.tolist()) == ([1, 4], [2, 0])
    everything = all_coalitions(5)
    first, second = complements(everything)
    assert len(first) == 16 and (everything[first] == ~everything[second]).all()


def test_nobody_and_all_are_asked_again_within_the_budget() -> None:
    game = saturating(9)
    batches: list[list[tuple[frozenset[int], int]]] = []

    def of_times(asked: Sequence[tuple[frozenset[int], int]]) -> list[list[float]]:
        batches.append(list(asked))
        return [[game(coalition)] * 2 for coalition, _ in asked]

    ends = [(frozenset[int](), 1 + k) for k in range(MORE)] + [(frozenset(range(9)), 1 + k) for k in range(MORE)]
    for alike in (False, True):
        batches.clear()
        found = shapley_values(NoisyValueFunction(of_times), 9, drawn_alike=alike)
        asked = [one for batch in batches for one in batch]
        assert len(batches) == 2 and len(asked) == len(set(asked)) == found.calls == found.budget == default_budget(9)
        assert [one for one in asked if one[1]] == ends
        assert found.estimator.startswith("kriged from 52 pairs (drawn by shapiq")
    batches.clear()
    assert (
        shapley_values(NoisyValueFunction(of_times), 9, budget=25).calls == 24
    )  # Too few, so that all are needed for pairs.
    assert not any(time for _, time in batches[0])
    assert NoisyValueFunction(of_times)(frozenset({3})) == [game(frozenset({3}))] * 2


@pytest.mark.parametrize("alike", [False, True])
def test_more_rollouts_of_the_ends_are_averaged(alike: bool) -> None:
    members = np.array([[0, 0], [1, 0], [1, 1]], dtype=bool)
    value = NoisyValueFunction(lambda asked: [[10.0 * len(coalition) + time, 20.0] for coalition, time in asked])
    worth = ask(value, members, drawn_alike=alike, more=3)
    np.testing.assert_allclose(worth.means, [(0 + 1 + 2 + 3 + 80) / 8, 15.0, (20 + 21 + 22 + 23 + 80) / 8])
    assert (worth.calls, worth.fewest) == (9, 2)
    assert (worth.rollouts is None) is not alike
    if worth.rollouts is not None:
        np.testing.assert_allclose(worth.rollouts[0], [1.5, 20.0])


@pytest.mark.slow
@pytest.mark.parametrize("kind", [saturating, pairwise])
def test_it_is_nearer_than_kernelshap_under_noise_and_without(kind: object) -> None:
    for noise in (0.0, 0.5):
        errors: dict[str, list[float]] = {"kriged": [], "paired": []}
        for seed in range(12):
            game = kind(10, seed)  # type: ignore[operator]
            true = shapley_values(game, 10, budget=1024).values
            for sampling, of in errors.items():
                rng = np.random.default_rng(seed)

                def value(s: frozenset[int], game=game, rng=rng, noise=noise) -> list[float]:  # type: ignore[no-untyped-def]
                    return game(s) + noise * rng.normal(size=2)

                found = shapley_values(value, 10, sampling=sampling, seed=seed)  # type: ignore[arg-type]
                of.append(float(np.linalg.norm(found.values - true)))
        assert np.mean(errors["kriged"]) < 0.97 * np.mean(errors["paired"]) or np.mean(errors["paired"]) < 1e-7


def majority(players: int, seed: int) -> Callable[[frozenset[int]], float]:
    """1 where more than half of all weight is in, else 0: what a coalition wins its complement loses."""
    weights = np.random.default_rng(seed).random(players)
    return lambda coalition: float(weights[list(coalition)].sum() > weights.sum() / 2)


@pytest.mark.parametrize("players", [7, 8, 9])
def test_what_was_asked_about_whole_is_exact_where_nothing_is_smooth(players: int) -> None:
    members = all_coalitions(players)
    first, second = complements(members)
    game = majority(players, players)
    worth = np.array([game(frozenset(np.flatnonzero(row).tolist())) for row in members])
    found = krige(members[first], (worth[first] - worth[second]) / 2, None)
    exact = shapley_values(game, players, budget=2**players).values
    np.testing.assert_allclose(found.linear @ ((worth[first] - worth[second]) / 2), exact, atol=1e-4)
    assert found.structure.max() < 1e-6


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_one_half_of_a_pair_is_enough_where_it_tells_the_other(noise: float) -> None:
    errors: dict[str, list[float]] = {"kriged": [], "appendix-d": []}
    asked_in_halves = 0
    for seed in range(8):
        game = majority(8, seed)
        true = shapley_values(game, 8, budget=256).values
        for sampling, of in errors.items():
            rng = np.random.default_rng(seed)

            def value(s: frozenset[int], game=game, rng=rng) -> list[float]:  # type: ignore[no-untyped-def]
                return game(s) + noise * rng.normal(size=2 if noise else 1)

            found = shapley_values(value, 8, sampling=sampling, seed=seed)  # type: ignore[arg-type]
            assert found.calls <= found.budget and found.values.sum() == pytest.approx(found.whole - found.empty)
            asked_in_halves += "of one half" in found.estimator
            of.append(float(np.linalg.norm(found.values - true)))
    assert np.mean(errors["kriged"]) < np.mean(errors["appendix-d"])
    assert asked_in_halves == 8 if not noise else asked_in_halves >= 4
    assert "of one half" not in shapley_values(saturating(8), 8).estimator


def test_rollouts_that_agree_are_no_noise():
    weights = np.random.default_rng(1).random(8)
    twice = shapley_values(lambda s: [float(weights[list(s)].sum() > weights.sum() / 2)] * 2, 8)
    assert "of one half" in twice.estimator


def test_seven_players_are_asked_about_in_every_way() -> None:
    assert shapley_values(saturating(7), 7).estimator == "exact"
    assert [default_budget(7), default_budget(7, "appendix-d"), default_budget(8)] == [128, 86, 98]
