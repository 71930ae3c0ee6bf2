import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import linregress

from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, Missing, estimate, resample_counts
from apportion.evaluation.figures.calibration import NO_LINE, bins, calibration
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from tests.evaluation.made_up import episode

SETTINGS = EvaluationSettings(bootstrap=200)
RNG = np.random.default_rng(5)
PREDICTED = 60 + 8 * RNG.normal(size=(1, 40))
SCORES = 30 + 0.5 * PREDICTED[0] + RNG.normal(size=40)


def held(scores: Floats) -> TestSet:
    """Sessions of two turns, so that a session's prediction is the sum of two rewards."""
    return TestSet.of([episode(f"s{i:03d}", 2, float(score)) for i, score in enumerate(scores)])


def turns(predicted: Floats) -> Floats:
    """Turn rewards that sum to the predictions [shape=(K, E) -> (K, 2 E)]."""
    return np.repeat(predicted, 2, axis=1) * np.tile([0.25, 0.75], predicted.shape[1])


def sampled(figure: BootstrapResult | Missing) -> BootstrapResult:
    assert isinstance(figure, BootstrapResult), figure
    return figure


def test_the_line_is_that_of_a_plain_regression_on_the_sessions_and_on_every_resample():
    found = calibration(held(SCORES), turns(PREDICTED - 50), 50.0, SETTINGS)
    line = linregress(PREDICTED[0], SCORES)
    assert sampled(found.slope).value == pytest.approx(line.slope)
    assert sampled(found.intercept).value == pytest.approx(line.intercept)
    for row in (0, 99, 199):
        drawn = np.repeat(np.arange(40), resample_counts(40, SETTINGS)[row].astype(int))
        again = linregress(PREDICTED[0][drawn], SCORES[drawn])
        assert sampled(found.slope).replicates[row] == pytest.approx(again.slope)
        assert sampled(found.intercept).replicates[row] == pytest.approx(again.intercept)
    interval = estimate(sampled(found.slope), 0.95)
    assert interval.low is not None and interval.high is not None and interval.low < 0.5 < interval.high


def test_errors_of_one_bin_cancel_and_those_of_two_do_not():
    predicted = np.linspace(40, 60, 20)[None]
    scores = predicted[0] + np.repeat([2.0, -2.0], 10)
    one = calibration(held(scores), turns(predicted), 0.0, EvaluationSettings(calibration_bins=1))
    two = calibration(held(scores), turns(predicted), 0.0, EvaluationSettings(calibration_bins=10))
    assert sampled(one.error).value == pytest.approx(0.0, abs=1e-9)
    assert sampled(two.error).value == pytest.approx(2.0)  # 20 sessions fill two bins, not ten


def test_a_constant_prediction_has_an_error_and_no_line():
    found = calibration(held(SCORES), np.zeros((1, 80)), 55.0, SETTINGS)
    assert found.slope is NO_LINE and found.intercept is NO_LINE
    assert sampled(found.error).value == pytest.approx(abs(SCORES.mean() - 55.0))


def test_a_line_needs_every_seed_to_vary():
    both = np.vstack([PREDICTED, np.full_like(PREDICTED, 60.0)])
    assert calibration(held(SCORES), turns(both), 0.0, SETTINGS).slope is NO_LINE
    twice = calibration(held(SCORES), turns(np.vstack([PREDICTED, 2 * PREDICTED])), 0.0, SETTINGS)
    slope = linregress(PREDICTED[0], SCORES).slope
    assert sampled(twice.slope).values == pytest.approx([slope, slope / 2])


def test_predictions_that_hardly_differ_have_a_line():
    close = 55 + (PREDICTED - 60) * 1e-6
    found = calibration(held(SCORES), turns(close), 0.0, SETTINGS)
    assert sampled(found.slope).value == pytest.approx(linregress(PREDICTED[0], SCORES).slope * 1e6, rel=1e-6)
    assert np.isfinite(sampled(found.intercept).value)


def test_a_single_session_has_no_line():
    found = calibration(held(SCORES[:1]), turns(PREDICTED[:, :1]), 0.0, SETTINGS)
    assert found.slope is NO_LINE
    assert sampled(found.error).value == pytest.approx(abs(SCORES[0] - PREDICTED[0, 0]))


@given(st.lists(st.integers(0, 20), min_size=1, max_size=80), st.integers(1, 10))
def test_bins_keep_the_order_and_hold_equal_predictions_together(whole, wanted):
    predicted = np.array(whole, dtype=np.float64)
    found = bins(predicted, wanted)
    assert found.min() >= 0 and found.max() < wanted
    order = np.argsort(predicted)
    assert (np.diff(found[order]) >= 0).all()
    for value in np.unique(predicted):
        assert len(np.unique(found[predicted == value])) == 1


def test_distinct_predictions_fill_the_bins_evenly():
    assert np.bincount(bins(np.random.default_rng(0).permutation(100).astype(np.float64), 10)).tolist() == [10] * 10
