"""Nods and shakes by swings, on paths whose answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.features.face.mesh.nods import Poses, posed_events, turning_points
from apportion.features.face.nods import HeadTrajectory
from apportion.features.settings import FeatureSettings

SETTINGS = FeatureSettings(detector="mesh")
TIMES = np.arange(0.0, 8.0, 1 / 15)
STILL = np.zeros_like(TIMES)
LOOKS = np.arange(0.0, 8.0, 0.2)


def poses(yaw: float = 0.0, pitch: float = 0.0) -> Poses:
    """A head that turns so many degrees to and fro from look to look."""
    sign = np.where(np.arange(len(LOOKS)) % 2, 0.5, -0.5)
    return Poses(LOOKS, yaw * sign, pitch * sign)


def found(x=STILL, y=STILL, turned=None, **settings):
    chosen = FeatureSettings(detector="mesh", **settings)
    events = posed_events([HeadTrajectory(TIMES, x, y)], turned or poses(), chosen)
    return len(events.yes), len(events.no)


def waves(hz: float, cycles: float, size: float, start_s: float = 2.0):
    """``size`` face heights from one end to the other."""
    inside = (start_s <= TIMES) & (start_s + cycles / hz > TIMES)
    return np.where(inside, size / 2 * np.sin(2 * math.pi * hz * (TIMES - start_s)), 0.0)


@pytest.mark.parametrize("hz", [1.5, 2.0, 3.0, 4.0, 4.5])
@pytest.mark.parametrize("cycles", [2, 3, 4])
def test_a_head_that_goes_to_and_fro_nods_or_shakes_once(hz, cycles):
    assert found(y=waves(hz, cycles, 0.12)) == (1, 0)
    assert found(x=waves(hz, cycles, 0.12)) == (0, 1)


@given(st.floats(0.1, 0.4), st.floats(0.3, 1.5))
def test_a_single_dip_is_no_nod(size, length_s):
    dip = np.where(np.abs(TIMES - 3) < length_s / 2, size * np.cos(math.pi * (TIMES - 3) / length_s) ** 2, 0.0)
    assert found(y=dip) == (0, 0)


def test_what_is_no_nod_or_shake():
    assert found(y=waves(0.8, 4, 0.3)) == (0, 0)
    assert found(y=waves(2.0, 4, 0.03)) == (0, 0)
    assert found(y=waves(2.0, 4, 0.03), nod_range=0.05) == (1, 0)
    trembles = np.where((TIMES > 2) & (TIMES < 3), 0.06 * (-1.0) ** np.arange(len(TIMES)), 0.0)
    assert found(y=trembles) == found(x=trembles) == (0, 0)
    # A toss that comes to rest.
    ways = np.interp(TIMES, [2.0, 2.2, 2.4, 2.6, 2.8, 3.0], [0.0, 0.12, 0.12, 0.04, 0.04, 0.08])
    assert found(y=ways) == (0, 0)
    assert found(y=np.interp(TIMES, [2.0, 2.2, 2.4, 2.6], [0.0, 0.12, 0.04, 0.1])) == (1, 0)
    times = [2.0, 2.2, 2.4, 2.6, 2.8, 3.0, 3.2, 3.4]
    sinks = np.interp(TIMES, times, [0.0, 0.15, 0.1, 0.25, 0.2, 0.35, 0.3, 0.3])  # back by a third each time
    nods = np.interp(TIMES, times, [0.0, 0.15, 0.06, 0.21, 0.12, 0.27, 0.18, 0.18])
    assert found(y=sinks) == (0, 0)
    assert found(y=nods) == (1, 0)
    # Tossed aside and up at once.
    x = waves(2.0, 3, 0.12)
    assert found(x, turned=poses(yaw=6.0, pitch=4.5)) == (0, 0)
    assert found(x, turned=poses(yaw=6.0, pitch=3.9)) == (0, 1)
    assert found(x, turned=poses(yaw=6.0, pitch=4.5), nod_axis_ratio=0.0) == (0, 1)
    assert found(y=x, turned=poses(yaw=4.5, pitch=6.0)) == (1, 0)  # a nod may sway
    assert posed_events([], poses(), SETTINGS).yes == ()
    assert posed_events([HeadTrajectory(TIMES[:1], STILL[:1], STILL[:1])], poses(), SETTINGS).no == ()


def test_crossings_say_how_many_swings_are_needed():
    assert found(y=waves(2.0, 2, 0.12), nod_crossings=6) == (0, 0)
    assert found(y=waves(2.0, 5, 0.12), nod_crossings=6) == (1, 0)


def test_the_pose_tells_the_axis_and_without_it_the_path():
    y, x = waves(2.0, 3, 0.1), waves(2.0, 3, 0.12)
    assert found(x, y) == (0, 0)
    assert found(x, y, poses(yaw=3.0, pitch=6.0)) == (1, 0)
    assert found(x, y, poses(yaw=6.0, pitch=3.0)) == (0, 1)
    assert found(x, y, poses(yaw=1.0, pitch=1.5)) == (0, 0)  # the networks' own unrest
    assert found(x, y, Poses(LOOKS, LOOKS * math.nan, LOOKS * math.nan)) == (0, 0)
    assert found(x / 3, y) == (1, 0)


def test_slow_movement_hides_no_nod():
    nods = waves(1.5, 3, 0.1)
    sways = np.interp(TIMES, [1.0, 5.0], [0.0, 0.2])  # 0.1 while it nods: as far as a nod goes
    assert found(x=sways, y=nods) == (1, 0)
    assert found(x=nods, y=sways) == (0, 1)
    nods = waves(2.5, 4, 0.12)  # Five looks a second see it at two places, and the head turns from look to look.
    assert found(x=nods / 2.8, y=nods, turned=poses(yaw=3.0, pitch=0.5)) == (1, 0)
    assert found(x=nods / 2.6, y=nods, turned=poses(yaw=3.0, pitch=0.5)) == (0, 0)
    assert found(x=nods, y=nods / 3.2, turned=poses(yaw=0.5, pitch=3.0)) == (0, 0)  # No shake by itself.


@given(st.lists(st.floats(-1, 1), min_size=0, max_size=60), st.floats(0.05, 0.5))
def test_turning_points_are_peaks_and_valleys_by_turns(values, smallest):
    turns = turning_points(np.array(values), smallest)
    ways = np.diff([values[index] for index in turns])
    assert turns == sorted(set(turns))
    assert (np.abs(ways) >= smallest).all()
    assert (ways[1:] * ways[:-1] < 0).all()
    assert bool(turns) == (len(values) > 0 and float(np.ptp(values)) >= smallest)


@pytest.mark.parametrize("hz", [1.5, 2.5, 4.0])
def test_a_head_that_moves_by_itself_nods_all_the_same(hz):
    """It leans by as much as it nods while it nods, and yaws slowly by more than the mesh sees it tip."""
    nods = waves(hz, 3, 0.12)
    leans = 0.1 * np.sin(2 * math.pi * 0.35 * TIMES)
    yaws = Poses(LOOKS, 20 * np.sin(2 * math.pi * 0.3 * LOOKS), 1.0 * np.sin(2 * math.pi * hz * LOOKS))
    assert found(x=leans, y=nods + leans, turned=yaws) == (1, 0)
    assert found(x=leans, y=leans, turned=yaws) == (0, 0)


@pytest.mark.parametrize(("hz", "own_hz"), [(3.0, 0.6), (3.5, 0.9), (4.0, 0.8)])
def test_a_head_that_moves_far_and_fast_by_itself_nods_too(hz, own_hz):
    own = 0.15 * np.sin(2 * math.pi * own_hz * TIMES)
    assert found(y=waves(hz, 3, 0.12) + own) == (1, 0)
    assert found(y=own) == (0, 0)


def test_a_head_that_is_thrown_back_does_not_nod():
    step = np.interp(TIMES, [2.7, 3.0, 3.3], [0.0, -0.04, 0.17])  # What is left without the mean goes to and fro.
    assert found(y=step) == found(y=-step) == (0, 0)
