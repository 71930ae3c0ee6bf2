import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap as scipy_bootstrap

from apportion.evaluation.confidence_intervals.bootstrap import (
    BootstrapResult,
    estimate,
    paired_difference,
    ratio,
    resample,
    resample_counts,
)
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.intervals.resampling import drawn_counts

SETTINGS = EvaluationSettings(bootstrap=500)


def sums(values: np.ndarray) -> np.ndarray:
    return np.stack([values, np.ones_like(values)], axis=-1)[None]


def test_another_seed_draws_otherwise_and_the_same_seed_alike():
    other = resample_counts(7, SETTINGS.model_copy(update={"seed": 1}))
    assert not np.array_equal(other, resample_counts(7, SETTINGS))
    drawn_counts.cache_clear()
    again = resample_counts(7, SETTINGS)
    assert np.array_equal(again, resample_counts(7, EvaluationSettings(bootstrap=500)))


def test_interval_of_a_mean_agrees_with_scipy():
    values = np.random.default_rng(3).exponential(2.0, size=60)
    settings = EvaluationSettings(bootstrap=9999)
    ours = estimate(resample(sums(values), ratio, settings), 0.95)
    theirs = scipy_bootstrap((values,), np.mean, n_resamples=9999, method="percentile", rng=1).confidence_interval
    assert ours.value == pytest.approx(values.mean())
    assert ours.low == pytest.approx(theirs.low, abs=0.03)
    assert ours.high == pytest.approx(theirs.high, abs=0.03)


def test_a_paired_difference_is_narrower_than_the_figures():
    rng = np.random.default_rng(0)
    base = rng.normal(0, 10, 80)
    a, b = (resample(sums(base + shift + rng.normal(0, 0.1, 80)), ratio, SETTINGS) for shift in (1.0, 0.0))
    difference, alone = estimate(paired_difference(a, b), 0.95), estimate(a, 0.95)
    assert difference.above_zero and difference.low == pytest.approx(1.0, abs=0.1)
    assert difference.high - difference.low < 0.1 < alone.high - alone.low


def test_figures_over_different_sessions_are_not_paired():
    a, b = resample(sums(np.ones(3)), ratio, SETTINGS), resample(sums(np.ones(4)), ratio, SETTINGS)
    with pytest.raises(ValueError, match="over 3 and 4 sessions"):
        paired_difference(a, b)


def test_resamples_that_define_nothing_are_passed_over_or_leave_no_interval():
    some = BootstrapResult(np.array([1.0]), np.array([np.nan, 1.0, 2.0, 3.0]), 4)
    none = BootstrapResult(np.array([1.0]), np.array([np.nan, np.nan, np.nan, 3.0]), 4)
    assert estimate(some, 0.9).low == pytest.approx(1.1)
    assert estimate(none, 0.9).low is None


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20))
def test_the_interval_lies_within_the_sessions_values(values):
    found = estimate(resample(sums(np.array(values)), ratio, EvaluationSettings(bootstrap=100)), 0.95)
    assert found.low is not None and found.high is not None
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
