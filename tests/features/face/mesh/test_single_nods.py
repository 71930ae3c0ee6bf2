"""Nods of one dip, on paths whose answer is known."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.features.face.mesh.nods import Poses
from apportion.features.face.mesh.single_nods import single_nods
from apportion.features.face.nods import HeadTrajectory

TIMES = np.arange(0.0, 8.0, 1 / 15)
STILL = np.zeros_like(TIMES)
LOOKS = np.arange(0.0, 8.0, 0.2)


def dip(times, size, length_s, start_s=3.0):
    inside = (times >= start_s) & (times <= start_s + length_s)
    return np.where(inside, size * np.sin(np.pi * (times - start_s) / length_s), 0.0)


def found(y, x=STILL, bows=5.0, length_s=0.6, nods=(), start_s=3.0):
    poses = Poses(LOOKS, np.zeros_like(LOOKS), dip(LOOKS, bows, length_s, start_s))
    return single_nods([HeadTrajectory(TIMES, x, y)], poses, nods, 0.1)


@pytest.mark.parametrize("length_s", [0.4, 0.6, 0.8])
@pytest.mark.parametrize("size", [0.07, 0.1, 0.2])
def test_a_dip_with_a_bow_is_a_nod_where_it_was(size, length_s):
    ((start_s, end_s),) = found(dip(TIMES, size, length_s), length_s=length_s)
    assert (start_s + end_s) / 2 == pytest.approx(3.0 + length_s / 2, abs=0.12)
    assert end_s - start_s == pytest.approx(length_s, abs=0.25)


def test_what_is_no_single_nod():
    deep = dip(TIMES, 0.1, 0.6)
    assert len(found(deep)) == 1
    assert found(dip(TIMES, 0.03, 0.6)) == ()  # Too shallow.
    assert found(deep, bows=0.5) == found(deep, bows=-5.0) == ()  # The head moves and does not bow.
    assert found(-deep) == ()  # Up.
    assert found(deep, x=deep) == ()  # As far aside.
    assert found(deep, x=np.interp(TIMES, [3.0, 3.6], [0.0, 0.2])) == ()  # It turns away meanwhile.
    assert len(found(deep, x=np.interp(TIMES, [3.6, 4.2], [0.0, 0.2]))) == 1  # It turns away afterwards.
    assert found(np.interp(TIMES, [3.0, 3.6], [0.0, 0.1])) == ()  # It stays down.
    assert found(dip(TIMES, 0.1, 3.0)) == ()  # Slow.
    assert found(deep, nods=[(2.0, 3.2)]) == ()  # Part of another nod.
    assert single_nods([], Poses(LOOKS, LOOKS, LOOKS), (), 0.1) == ()


def test_without_looks_near_nothing_is_told():
    path = HeadTrajectory(TIMES, STILL, dip(TIMES, 0.1, 0.6))
    blind = Poses(LOOKS, LOOKS * np.nan, LOOKS * np.nan)
    assert single_nods([path], blind, (), 0.1) == ()
    pitch = np.where((LOOKS > 2.5) & (LOOKS < 4.1), np.nan, dip(LOOKS, 5.0, 0.6))
    assert single_nods([path], Poses(LOOKS, pitch, pitch), (), 0.1) == ()
    short = HeadTrajectory(TIMES[:3], STILL[:3], STILL[:3])
    assert single_nods([short, HeadTrajectory(TIMES[:0], STILL[:0], STILL[:0])], blind, (), 0.1) == ()


@given(st.lists(st.floats(-0.2, 0.2), min_size=len(TIMES), max_size=len(TIMES)))
def test_nods_are_apart_and_within_the_path(y):
    nods = found(np.cumsum(y) / 10, bows=20.0, length_s=7.0, start_s=0.5)
    middles = sorted((a + b) / 2 for a, b in nods)
    assert all(b - a > 0.5 for a, b in pairwise(middles))
    assert all(TIMES[0] - 0.1 <= a < b <= TIMES[-1] + 0.1 for a, b in nods)
