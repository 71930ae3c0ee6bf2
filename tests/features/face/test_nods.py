import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.features.face.nods import HeadTrajectory, crossings, head_events, join
from apportion.features.settings import FeatureSettings
from tests.features.clips import wave

SETTINGS = FeatureSettings()
TIMES = np.arange(0.0, 12.0, 0.1)


def _path(x=None, y=None, times=TIMES) -> HeadTrajectory:
    zero = np.zeros(len(times))
    return HeadTrajectory(times, zero if x is None else x, zero if y is None else y)


def _burst(start_s: float, cycles: int, hz: float, size: float) -> np.ndarray:
    return np.array([wave(t, start_s, cycles, hz, size) for t in TIMES])


@pytest.mark.parametrize("hz", [0.75, 1.0, 1.5, 2.0, 2.5])
def test_a_nod_is_one_event_at_its_time(hz):
    events = head_events([_path(y=_burst(4.0, 3, hz, 0.1))], SETTINGS)
    ((start_s, end_s),) = events.yes
    assert events.no == ()
    assert start_s == pytest.approx(4.0, abs=0.5)
    assert end_s == pytest.approx(4.0 + 3 / hz, abs=0.5)


def test_a_shake_is_along_the_other_axis_and_two_apart_are_two_events():
    events = head_events([_path(x=_burst(2.0, 2, 1.0, 0.1)), _path(x=_burst(8.0, 2, 1.0, 0.1))], SETTINGS)
    assert events.yes == ()
    assert len(events.no) == 2
    assert len(head_events([_path(y=_burst(1.0, 2, 1.0, 0.1) + _burst(8.0, 2, 1.0, 0.1))], SETTINGS).yes) == 2


def test_what_is_no_nod():
    small = _path(y=_burst(4.0, 3, 1.0, 0.04))  # range 0.08
    step = _path(y=np.where(TIMES > 5, 0.5, 0.0))  # one crossing
    drift = _path(y=TIMES * 0.1)
    diagonal = _path(x=_burst(4.0, 3, 1.0, 0.1), y=_burst(4.0, 3, 1.0, 0.1))
    jitter = _path(y=0.03 * np.random.default_rng(0).standard_normal(len(TIMES)).clip(-1.5, 1.5))
    for path in (small, step, drift, diagonal, jitter, _path(times=TIMES[:0]), _path(times=TIMES[:3])):
        events = head_events([path], SETTINGS)
        assert events.yes == events.no == ()


def test_the_papers_literal_rule_can_be_had():
    literal = FeatureSettings(nod_axis_ratio=0.0, nod_hysteresis=0.0)
    both = _path(x=_burst(4.0, 3, 1.0, 0.1), y=_burst(4.0, 3, 1.0, 0.1))
    events = head_events([both], literal)
    assert len(events.yes) == len(events.no) == 1


signals = st.lists(st.floats(-1, 1), max_size=60).map(np.array)


@given(signals, st.floats(0.0, 0.45))
def test_crossings_do_not_depend_on_place_sign_or_size(values, band):
    values = np.round(values, 3)
    found = crossings(values, band)
    assert crossings(-values, band) == found
    assert crossings(values * 4.0, band) == found
    assert all(a < b for a, b in found)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(found))


@given(signals)
def test_a_wider_dead_band_never_finds_more(values):
    assert len(crossings(values, 0.3)) <= len(crossings(values, 0.1)) <= max(0, len(values) - 1)


@pytest.mark.parametrize(("cycles", "expected"), [(1, 1), (2, 3), (5, 9)])
def test_crossings_of_a_sine(cycles, expected):
    assert len(crossings(np.sin(np.linspace(0, 2 * np.pi * cycles, 200)), 0.1)) == expected


@given(st.lists(st.tuples(st.floats(0, 50), st.floats(0, 5)).map(lambda v: (v[0], v[0] + v[1]))))
def test_joined_spans_are_apart_and_cover_the_same(spans):
    joined = join(spans)
    assert all(a[1] < b[0] for a, b in itertools.pairwise(joined))
    assert all(any(a <= start and end <= b for a, b in joined) for start, end in spans)
    assert join(joined) == joined
