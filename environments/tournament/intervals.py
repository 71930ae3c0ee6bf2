"""Means over tasks with bootstrap intervals, and the paired t-test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.estimate import IntervalEstimate
from apportion.foundation.intervals.resampling import Sampling, interval
from apportion.foundation.tables.numbers import NOISE

SAMPLING = Sampling()


@dataclass(frozen=True)
class Mean(IntervalEstimate):
    """A mean over ``tasks`` with its interval, None where one task cannot tell."""

    tasks: int


@dataclass(frozen=True)
class PairedTest:
    """Student's t-test of differences within ``tasks``; ``t`` and ``p`` are None for one task, or equal differences."""

    difference: Mean
    t: float | None
    p: float | None
    tasks: int


def mean_over_tasks(values: Sequence[float]) -> Mean:
    """The mean of a value a task, with a percentile bootstrap interval by `SAMPLING` over tasks.

    Parameters
    ----------
    values : sequence of float
        One at least; the same number of values is resampled alike.

    >>> mean_over_tasks([2.0, 4.0]).value, mean_over_tasks([3.0])
    (3.0, Mean(value=3.0, low=None, high=None, tasks=1))
    """
    data = np.array(values, np.float64)
    low, high = interval(data, lambda sums: sums / len(data), SAMPLING)
    return Mean(float(data.mean()), low, high, len(data))


def paired_test(one: Sequence[float], other: Sequence[float]) -> PairedTest:
    """Whether ``one`` is another mean than ``other`` over the same tasks, in the same order (two-sided)."""
    from scipy import stats

    differences: Floats = np.array(one, np.float64) - np.array(other, np.float64)
    difference = mean_over_tasks(differences.tolist())
    if len(differences) < 2 or np.ptp(differences) < NOISE:
        return PairedTest(difference, None, None, len(differences))
    found = stats.ttest_rel(one, other)
    t, p = float(found.statistic), float(found.pvalue)
    assert math.isfinite(t) and math.isfinite(p)
    return PairedTest(difference, t, p, len(differences))
