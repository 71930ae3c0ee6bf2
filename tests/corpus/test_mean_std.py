import math
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.mean_std import mean, spread, total

numbers = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20)


@given(numbers)
def test_between_the_least_and_the_most(values):
    slack = 1e-9 * max(map(abs, values))
    assert min(values) - slack <= mean(values) <= max(values) + slack
    assert 0 <= spread(values) <= max(values) / 2 - min(values) / 2 + slack
    assert not math.isnan(total(values))


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=20))
def test_ordinary_numbers_are_the_librarys(values):
    assert (mean(values), spread(values), total(values)) == (fmean(values), pstdev(values), math.fsum(values))


def test_both_infinities_have_no_mean():
    assert math.isnan(mean([math.inf, -math.inf]))
    assert total([1e308, 1e308]) == math.inf


def test_the_mean_of_the_largest_numbers():
    assert mean([1.5e308, 1.7e308]) == pytest.approx(1.6e308)
