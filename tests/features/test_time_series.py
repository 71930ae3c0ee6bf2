import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.features.time_series import Series, sampled, smoothed

numbers = st.floats(-100, 100)
times = st.lists(st.integers(0, 2000), min_size=1, max_size=40, unique=True).map(lambda v: [x / 100 for x in sorted(v)])


@st.composite
def series(draw):
    moments = draw(times)
    values = draw(st.lists(numbers | st.just(math.nan), min_size=len(moments), max_size=len(moments)))
    return sampled(moments, values, draw(st.sampled_from([0.05, 0.25, 1.0])), decibel=draw(st.booleans()))


spans = st.tuples(st.floats(-2, 22), st.floats(0.001, 10)).map(lambda v: (v[0], v[0] + v[1]))


@given(series(), spans)
def test_mean_lies_within_the_values_and_coverage_within_0_and_1(s, span):
    mean, coverage = s.mean([span], span[1] - span[0])
    assert 0.0 <= coverage <= 1.0
    assert (mean is None) == (coverage == 0.0)
    if mean is not None:
        assert np.nanmin(s.values) - 1e-6 <= mean <= np.nanmax(s.values) + 1e-6


@given(series(), spans, st.floats(0.1, 0.9))
def test_two_halves_make_the_whole(s, span, share):
    middle = span[0] + share * (span[1] - span[0])
    length = span[1] - span[0]
    whole, parts = s.mean([span], length), s.mean([(span[0], middle), (middle, span[1])], length)
    assert parts[1] == pytest.approx(whole[1], abs=1e-9)
    if whole[0] is not None and whole[1] * length > 1e-6:
        assert parts[0] == pytest.approx(whole[0], abs=1e-6)


@given(series())
def test_cells_are_in_order_and_do_not_overlap(s):
    assert (s.starts_s <= s.ends_s).all()
    assert (s.ends_s[:-1] <= s.starts_s[1:] + 1e-9).all()


def test_means_are_weighted_by_time_and_decibels_averaged_as_energy():
    s = Series(np.array([0.0, 0.1, 0.2]), np.array([0.1, 0.2, 1.0]), np.array([1.0, 1.0, 5.0]))
    assert s.mean([(0.0, 1.0)], 1.0) == (pytest.approx(0.2 * 1 + 0.8 * 5), pytest.approx(1.0))
    s = Series(np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([3.0, math.nan]))
    assert s.mean([(0.0, 4.0)], 4.0) == (3.0, 0.25)
    assert s.mean([(1.0, 4.0)], 3.0) == (None, 0.0)
    assert s.mean([], 3.0) == (None, 0.0)
    assert s.mean([(1.0, 1.0)], 0.0) == (None, 0.0)
    s = Series(np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([60.0, 40.0]), decibel=True)
    assert s.mean([(0.0, 2.0)], 2.0)[0] == pytest.approx(57.03, abs=0.01)
    s = sampled([0.0, 0.1, 0.2, 2.0, 2.1], [1.0] * 5, hold_s=0.25)
    assert s.mean([(0.0, 2.1)], 2.1)[1] == pytest.approx((0.325 + 0.225) / 2.1)


@pytest.mark.parametrize("count", [0, 1])
def test_hardly_any_samples(count):
    s = sampled([1.0] * count, [2.0] * count, hold_s=0.5)
    assert s.mean([(0.0, 2.0)], 2.0) == ((2.0, 0.25) if count else (None, 0.0))
    assert len(s.resampled(10.0).values) == (5 if count else 0) or count == 1


def test_resampling_keeps_means_and_leaves_out_what_was_not_observed():
    moments = np.arange(0.005, 1.0, 0.01)
    values = np.where(moments < 0.5, moments, math.nan)
    coarse = sampled(moments, values, 0.01).resampled(10.0)
    assert coarse.times_s == pytest.approx([0.05, 0.15, 0.25, 0.35, 0.45])
    assert coarse.values == pytest.approx([0.05, 0.15, 0.25, 0.35, 0.45])


def test_within_takes_the_cells_whose_middle_is_inside():
    series = sampled([0.5, 1.5, 2.5], [1.0, 2.0, 3.0], 1.0)
    assert series.within((0.5, 2.5)).values.tolist() == [1.0, 2.0]
    assert series.within((-np.inf, np.inf)).values.tolist() == [1.0, 2.0, 3.0]
    assert series.within((5.0, 6.0)).values.tolist() == []


@given(st.lists(st.one_of(st.floats(-5, 5), st.just(math.nan)), min_size=1, max_size=30), st.floats(0, 2))
def test_smoothing_is_the_median_of_known_neighbours(values, width_s):
    times = np.arange(len(values)) / 10
    smooth = smoothed(times, values, width_s)
    for time_s, value, found in zip(times, values, smooth, strict=True):
        near = [v for t, v in zip(times, values, strict=True) if abs(t - time_s) <= width_s / 2 + 1e-6 and v == v]
        assert math.isnan(found) if math.isnan(value) else found == np.median(near)
