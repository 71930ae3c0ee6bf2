from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from apportion.environments.report_tables.table import Value
from apportion.environments.tournament.standings import Mean
from apportion.evaluation.confidence_intervals.bootstrap import Estimate
from apportion.foundation.intervals import resampling
from apportion.foundation.intervals.estimate import IntervalEstimate
from apportion.foundation.intervals.resampling import Sampling, drawn_counts, drawn_sums, interval


@given(st.integers(1, 30), st.integers(1, 20), st.integers(0, 5))
def test_as_many_are_drawn_as_there_are_and_the_same_again(units: int, resamples: int, seed: int) -> None:
    counts = drawn_counts(units, resamples, seed)
    assert counts.shape == (resamples, units) and (counts.sum(axis=1) == units).all() and (counts >= 0).all()
    drawn_counts.cache_clear()
    assert (drawn_counts(units, resamples, seed) == counts).all()


@pytest.mark.parametrize("columns", [(), (3,)])
@pytest.mark.parametrize("whole", [False, True])
def test_sums_of_many_units_are_those_of_the_counts_some_resamples_at_a_time(
    monkeypatch: pytest.MonkeyPatch, columns: tuple[int, ...], whole: bool
) -> None:
    sums, sampling = np.random.default_rng(1).normal(size=(40, *columns)), Sampling(resamples=25, seed=2)
    together = drawn_sums(sums, sampling, whole=whole)
    monkeypatch.setattr(resampling, "AT_ONCE", 40 * 7)
    monkeypatch.setattr(resampling, "drawn_counts", None)
    assert drawn_sums(sums, sampling, whole=whole) == pytest.approx(together)
    assert together[int(whole) :] == pytest.approx(drawn_counts(40, 25, 2) @ sums)
    assert not whole or together[0] == pytest.approx(sums.sum(axis=0))


def test_draws_are_numpy_s_of_all_resamples_together() -> None:
    drawn = np.random.default_rng(4).integers(0, 30, size=(20, 30))
    assert (drawn_counts(30, 20, 4) == [np.bincount(row, minlength=30) for row in drawn]).all()


def test_the_interval_is_scipy_s_percentile_bootstrap() -> None:
    values = np.random.default_rng(3).normal(size=40)
    found = interval(values, lambda sums: sums / len(values), Sampling(resamples=9999, confidence=0.9))
    theirs = stats.bootstrap((values,), np.mean, method="percentile", confidence_level=0.9, rng=1).confidence_interval
    assert found == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_a_ratio_of_sums_is_drawn_by_unit_and_one_unit_has_no_interval() -> None:
    sums = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])
    with np.errstate(invalid="ignore"):
        low, high = interval(sums, lambda s: s[..., 0] / s[..., 1], Sampling())
    assert low == 0.5 and high == 0.75
    assert interval(sums[:1], lambda s: s[..., 0], Sampling()) == (None, None)


OF_EVERY_KIND = (
    Estimate(0.5, -0.25, 1.0, sessions=9),
    Mean(0.5, -0.25, 1.0, tasks=4),
    Value(0.5, -0.25, 1.0, items=30, episodes=9, p=0.5),
)


@pytest.mark.parametrize("figure", OF_EVERY_KIND, ids=lambda figure: type(figure).__name__)
def test_every_kind_is_written_alike_and_keeps_what_it_rests_on_when_it_is_turned_round(
    figure: IntervalEstimate,
) -> None:
    assert figure.text(2) == "0.50 [-0.25, 1.00]" and figure.text(1, sign=True) == "+0.5 [-0.2, +1.0]"
    assert figure.negated() == replace(figure, value=-0.5, low=-1.0, high=0.25)
    assert replace(figure, low=None).text(2) == "0.50" and not replace(figure, low=None).above_zero


def test_the_spread_over_seeds_stands_between_value_and_interval() -> None:
    assert Estimate(0.5, -0.25, 1.0, 9, seed_sd=0.125).text(3) == "0.500 ±0.125 [-0.250, 1.000]"


@given(st.floats(-1e6, 1e6), st.none() | st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e6)))
def test_turned_round_twice_it_is_the_same(value: float, ends: tuple[float, float] | None) -> None:
    low, high = (None, None) if ends is None else (ends[0], ends[0] + ends[1])
    figure = IntervalEstimate(value, low, high)
    other = figure.negated()
    assert other.negated() == figure and not (figure.above_zero and other.above_zero)
    assert other.low is None or other.high is None or other.low <= other.high
