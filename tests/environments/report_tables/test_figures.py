"""Means of scores against scipy."""

import numpy as np
import pytest
from scipy import stats

from apportion.environments.report_tables.table import Value, mean
from apportion.foundation.intervals.resampling import Sampling


def test_an_interval_draws_whole_episodes() -> None:
    """Ten copies of every score in its own episode tell no more than one."""
    values = np.random.default_rng(0).normal(size=30)
    names = [str(number) for number in range(30)]
    one = mean(names, list(values), Sampling())
    ten = mean(names * 10, list(values) * 10, Sampling())
    assert isinstance(one, Value) and isinstance(ten, Value)
    assert (ten.low, ten.high) == (pytest.approx(one.low), pytest.approx(one.high))
    theirs = stats.bootstrap((values,), np.mean, method="percentile", rng=1).confidence_interval
    assert one.low == pytest.approx(theirs.low, abs=0.05) and one.high == pytest.approx(theirs.high, abs=0.05)
