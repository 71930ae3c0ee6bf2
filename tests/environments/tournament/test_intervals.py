"""Means over tasks, their intervals, and the paired t-test."""

import math

import numpy as np
import pytest
from scipy import stats

from apportion.environments.tournament.standings import Mean, mean_over_tasks, paired_test


def test_a_mean_has_the_interval_of_scipy_s_percentile_bootstrap() -> None:
    values = np.random.default_rng(3).normal(5, 2, 40)
    ours = mean_over_tasks(values.tolist())
    theirs = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", random_state=1)
    assert ours.value == pytest.approx(values.mean()) and ours.tasks == 40
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.06)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.06)
    assert ours == mean_over_tasks(values.tolist())


def test_one_task_and_equal_values_have_no_width() -> None:
    assert mean_over_tasks([3.0]) == Mean(3.0, None, None, 1)
    assert mean_over_tasks([3.0, 3.0, 3.0]) == Mean(3.0, 3.0, 3.0, 3)


def test_the_t_test_by_hand() -> None:
    """Differences 1, 2, 3, 0: mean 1.5, sd 1.29, t = 1.5 / (1.29 / 2) = 2.32; p of 3 degrees of freedom."""
    test = paired_test([2, 4, 6, 1], [1, 2, 3, 1])
    assert test.t == pytest.approx(1.5 / (math.sqrt(5 / 3) / 2)) and test.tasks == 4
    assert test.p == pytest.approx(2 * stats.t.sf(test.t, 3)) and test.difference.value == 1.5


def test_what_cannot_be_tested_is_not() -> None:
    assert paired_test([1.0], [2.0]).p is None
    equal = paired_test([1.1, 2.1, 3.1], [1.0, 2.0, 3.0])
    assert (equal.t, equal.p) == (None, None) and equal.difference.value == pytest.approx(0.1)
