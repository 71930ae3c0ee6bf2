from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from apportion.foundation.intervals.resampling import Sampling, drawn_counts, interval


@given(st.integers(1, 30), st.integers(1, 20), st.integers(0, 5))
def test_as_many_are_drawn_as_there_are_and_the_same_again(units: int, resamples: int, seed: int) -> None:
    counts = drawn_counts(units, resamples, seed)
    assert counts.shape == (resamples, units) and (counts.sum(axis=1) == units).all() and (counts >= 0).all()
    drawn_counts.cache_clear()
    assert (drawn_counts(units, resamples, seed) == counts).all()


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
