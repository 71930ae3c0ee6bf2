from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from apportion.decompose.projection import are_equal, min_max
from apportion.decompose.shapley.coalitions import appendix_d, kernel_weight
from apportion.decompose.shapley.values import (
    InsufficientBudgetError,
    Sampling,
    by_prefix,
    default_budget,
    shapley_values,
    without_each,
)
from apportion.foundation.errors import InputError, UnitError

Game = Callable[[frozenset[int]], float]


def pairwise(players: int, seed: int = 0) -> Game:
    """Each player's own worth, and one for each pair of players; v of no player is not 0."""
    rng = np.random.default_rng(seed)
    own, pairs = rng.normal(size=players), np.triu(rng.normal(size=(players, players)), 1)

    def value(coalition: frozenset[int]) -> float:
        member = np.isin(np.arange(players), list(coalition)).astype(float)
        return float(0.7 + own @ member + member @ pairs @ member)

    return value


def saturating(players: int, seed: int = 0) -> Game:
    gains = np.abs(np.random.default_rng(seed).normal(size=players))
    return lambda coalition: 3 * math.tanh(sum(gains[i] for i in coalition) / 2)


def by_matrix(value: Game) -> Callable[[NDArray[np.bool_]], NDArray[np.float64]]:
    """A game as shapiq calls it."""
    return lambda members: np.array([value(frozenset(np.flatnonzero(row).tolist())) for row in members])


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(0, 10**6), st.booleans())
def test_up_to_six_players_it_is_shapiq_s_exact_computer(players: int, seed: int, saturates: bool) -> None:
    from shapiq.game_theory.exact import ExactComputer

    game = (saturating if saturates else pairwise)(players, seed)
    found = shapley_values(game, players)
    exact = ExactComputer(by_matrix(game), players)("SV", 1).get_n_order_values(1)
    np.testing.assert_allclose(found.values, exact, rtol=0, atol=1e-9)
    assert found.estimator == "exact" and found.calls == 2**players <= found.budget
    assert not found.standard_errors.any()


@pytest.mark.parametrize("players", [7, 10])
def test_beyond_six_players_paired_is_shapiq_s_paired_kernelshap(players: int) -> None:
    from shapiq.approximator import KernelSHAP

    game = saturating(players)
    found = shapley_values(game, players, seed=3, sampling="paired")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        shapiq = KernelSHAP(players, pairing_trick=True, random_state=3).approximate(found.budget, by_matrix(game))
    # shapiq weights the sum's constraint with 1e8, here it is exact.
    np.testing.assert_allclose(found.values, shapiq.get_n_order_values(1), atol=1e-5)
    assert found.estimator.startswith("KernelSHAP, paired (drawn by shapiq 1.")


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 13),
    st.integers(0, 10**6),
    st.sampled_from(["kriged", "paired", "extreme-first"]),
    st.none() | st.just(40),
)
def test_the_values_sum_to_what_all_add(players: int, seed: int, sampling: str, budget: int | None) -> None:
    game = pairwise(players, seed)
    try:
        found = shapley_values(game, players, budget=budget, sampling=sampling, seed=seed)  # type: ignore[arg-type]
    except InsufficientBudgetError:
        assert budget == 40 and sampling != "extreme-first"  # Of 10 to 13 players, one draw of 40 in a hundred.
        reject()
    assert found.values.shape == found.standard_errors.shape == (players,)
    assert found.values.sum() == pytest.approx(found.whole - found.empty, abs=1e-8)
    assert found.empty == game(frozenset()) and found.whole == game(frozenset(range(players)))
    assert found.calls <= found.budget == (default_budget(players, sampling) if budget is None else budget)  # type: ignore[arg-type]


@pytest.mark.parametrize("sampling", ["kriged", "paired", "extreme-first"])
def test_every_coalition_is_asked_for_once_within_the_budget(sampling: str) -> None:
    asked: list[frozenset[int]] = []

    def value(coalition: frozenset[int]) -> float:
        asked.append(coalition)
        return float(len(coalition))

    found = shapley_values(value, 12, budget=60, sampling=sampling)  # type: ignore[arg-type]
    assert len(asked) == len(set(asked)) == found.calls == 60
    assert {frozenset(), frozenset(range(12))} <= set(asked)
    np.testing.assert_allclose(found.values, 1.0)


def test_extreme_sizes_come_first() -> None:
    sizes: list[int] = []

    def value(coalition: frozenset[int]) -> float:
        sizes.append(len(coalition))
        return 0.0

    shapley_values(value, 10, budget=60, sampling="extreme-first")
    counts = np.bincount(sizes, minlength=11)
    assert counts[[0, 1, 9, 10]].tolist() == [1, 10, 10, 1]
    assert counts[2] + counts[8] == 38 and not counts[3:8].any()


@pytest.mark.parametrize("sampling", ["kriged", "paired", "extreme-first"])
def test_equal_seeds_give_equal_values(sampling: str) -> None:
    def run(seed: int) -> list[float]:
        found = shapley_values(saturating(9), 9, sampling=sampling, seed=seed)  # type: ignore[arg-type]
        return [*found.values, *found.standard_errors]

    assert run(1) == run(1)
    assert run(1) != run(2)


@pytest.mark.parametrize("sampling", ["kriged", "paired"])
def test_paired_draws_find_a_game_of_pairs_exactly(sampling: Sampling) -> None:
    game = pairwise(10)
    exact = shapley_values(game, 10, budget=1024)
    assert exact.estimator == "exact"
    np.testing.assert_allclose(shapley_values(game, 10, sampling=sampling).values, exact.values, atol=1e-7)


@pytest.mark.parametrize(
    ("players", "noise", "sampling"), [(5, 1.0, "kriged"), (9, 1.0, "kriged"), (9, 0.0, "kriged"), (9, 1.0, "paired")]
)
def test_standard_errors_are_as_large_as_the_errors(players: int, noise: float, sampling: Sampling) -> None:
    game = saturating(players, 5)
    true = shapley_values(game, players, budget=2**players).values
    errors, variances = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        found = shapley_values(
            lambda s, rng=rng: game(s) + noise * rng.normal(size=2), players, seed=seed, sampling=sampling
        )
        errors.append((found.values - true) ** 2)
        variances.append(found.standard_errors**2)
    assert 0.7 < math.sqrt(np.mean(errors) / np.mean(variances)) < 1.4


def test_rollouts_are_averaged() -> None:
    found = shapley_values(lambda s: [len(s) - 1.0, len(s) + 1.0], 3)
    np.testing.assert_allclose(found.values, 1.0)
    # Each mean has variance 1; the weights of Eq. 4 for n = 3: 1/3, 1/6, 1/6, 1/3 with v(S) and v(S + i) each.
    np.testing.assert_allclose(found.standard_errors**2, 2 * (2 / 9 + 2 / 36))


@pytest.mark.parametrize("bad", [math.nan, math.inf, [], [1.0, math.nan], [[1.0], [2.0]]])
def test_a_value_that_is_no_number_is_named_with_its_coalition(bad: object) -> None:
    with pytest.raises(UnitError, match=r"coalition \[0, 2\]: its value is"):
        shapley_values(lambda s: bad if s == {0, 2} else 0.0, 3)  # type: ignore[arg-type, return-value]


def test_what_cannot_be_computed_is_refused() -> None:
    with pytest.raises(InputError, match="players = -1"):
        shapley_values(saturating(1), -1)
    with pytest.raises(InputError, match="'paird'; allowed are 'kriged', 'paired', 'extreme-first', 'appendix-d'"):
        shapley_values(saturating(1), 1, sampling="paird")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"200 coalitions for 100 players; KernelSHAP needs 2n \+ 2 = 202"):
        shapley_values(saturating(1), 100)
    for credit in (without_each, by_prefix):
        with pytest.raises(InputError, match="players = -1"):
            credit(lambda s: 0.0, -1)
        with pytest.raises(UnitError, match=r"coalition \[0, 1\]: its value is \[nan\]"):
            credit(lambda s: float("nan") if len(s) == 2 else 0.0, 2)


def test_budgets_are_savoir_s_and_too_unlucky_a_draw_is_refused() -> None:
    seed = next(seed for seed in range(200) if _fails(seed))
    with pytest.raises(InputError, match="do not tell 40 players apart"):
        shapley_values(pairwise(40), 40, budget=82, seed=seed)
    assert [default_budget(n) for n in (0, 6, 16, 17, 100)] == [2, 74, 194, 200, 200]
    assert kernel_weight(4, 1) == kernel_weight(4, 3) == pytest.approx(0.25)
    assert round(kernel_weight(3, 1), 2) == 0.33  # What appendix B prints is Eq. 6 of three acts.


def _fails(seed: int) -> bool:
    try:
        shapley_values(lambda s: 0.0, 40, budget=82, seed=seed)
    except InputError:
        return True
    return False


@settings(max_examples=20, deadline=None)
@given(st.integers(7, 14), st.integers(0, 10**6))
def test_appendix_d_asks_for_none_all_singles_and_all_but_one(players: int, seed: int) -> None:
    drawn = appendix_d(players, default_budget(players), np.random.default_rng(seed))
    sizes = drawn.members.sum(axis=1)
    assert len(sizes) == default_budget(players)
    assert sizes[: 2 * players + 1].tolist() == [0, *[1] * players, *[players - 1] * players] and sizes[-1] == players
    assert drawn.sampled.sum() == default_budget(players) - 2 * players - 2 and not drawn.sampled[: 2 * players].any()
    assert (drawn.weights == [kernel_weight(players, size) for size in sizes[1:-1]]).all()
    game = pairwise(players, seed)
    asked: list[frozenset[int]] = []
    found = shapley_values(lambda s: asked.append(s) or game(s), players, sampling="appendix-d", seed=seed)
    assert len(asked) == len(set(asked)) == found.calls == found.budget
    assert found.values.sum() == pytest.approx(found.whole - found.empty, abs=1e-8)
    assert found.estimator == "KernelSHAP, appendix-d"
    assert shapley_values(game, 6, sampling="appendix-d").estimator == "exact"


def test_standard_errors_know_that_rollouts_drew_alike() -> None:
    def value(coalition: frozenset[int]) -> list[float]:
        return [len(coalition) - 1.0, len(coalition) + 1.0]

    np.testing.assert_allclose(shapley_values(value, 3, drawn_alike=True).standard_errors, 0, atol=1e-12)
    assert shapley_values(value, 3).standard_errors.all()
    errors, variances = [], []
    game = saturating(5, 5)
    true = shapley_values(game, 5).values
    for seed in range(60):
        noise = np.random.default_rng(seed).normal(size=(2, 5))  # Of each rollout, an effect of each act: drawn alike.
        found = shapley_values(lambda s, n=noise: [game(s) + sum(row[i] for i in s) for row in n], 5, drawn_alike=True)
        errors.append((found.values - true) ** 2)
        variances.append(found.standard_errors**2)
    assert 0.8 < math.sqrt(np.mean(errors) / np.mean(variances)) < 1.25
    with pytest.raises(UnitError, match=r"coalitions with \[1, 2\] rollouts"):
        shapley_values(lambda s: [0.0] * (1 + bool(s)), 2, drawn_alike=True)


@given(st.integers(0, 9), st.integers(0, 10**6))
def test_they_are_what_they_say(players: int, seed: int) -> None:
    game = pairwise(players, seed)
    everybody = frozenset(range(players))
    alone, prefix = without_each(game, players), by_prefix(game, players)
    for i in range(players):
        assert alone.values[i] == pytest.approx(game(everybody) - game(everybody - {i}), abs=1e-9)
        gain = game(frozenset(range(i + 1))) - game(frozenset(range(i)))
        assert prefix.values[i] == pytest.approx(gain, abs=1e-9)
    assert prefix.values.sum() == pytest.approx(prefix.whole - prefix.empty, abs=1e-9)
    assert (prefix.empty, prefix.whole) == (alone.empty, alone.whole) == (game(frozenset()), game(everybody))
    assert prefix.calls == players + 1 and not prefix.standard_errors.any()


def test_noise_that_all_histories_share_is_no_noise_of_a_difference() -> None:
    def value(coalition: frozenset[int]) -> list[float]:
        return [len(coalition) - 1.0, len(coalition) + 1.0]

    for credit in (without_each, by_prefix):
        np.testing.assert_allclose(credit(value, 3, drawn_alike=True).standard_errors, 0, atol=1e-12)
        np.testing.assert_allclose(credit(value, 3).standard_errors, np.sqrt(2))


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8))
def test_it_keeps_the_order_within_0_and_10(values: list[float]) -> None:
    raw = np.array(values)
    scaled = min_max(raw)
    if are_equal(raw):
        assert set(scaled) == {5.0}
    else:
        assert (scaled.min(), scaled.max()) == (0.0, 10.0)
        assert (np.diff(scaled[np.argsort(raw)]) >= 0).all()


@pytest.mark.parametrize("values", [[], [3.0], [0.1, 0.1 + 1e-17], [-2.0, -2.0]])
def test_equal_values_are_all_5(values: list[float]) -> None:
    assert are_equal(np.array(values)) and min_max(np.array(values)).tolist() == [5.0] * len(values)
