"""Brows and mouth, on points whose answer is known, and over time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.features.face.mesh.brow_raise import (
    BRIDGE,
    BROWS,
    CALIBRATION_LOOKS,
    INNER_ENDS,
    RAISED_ON_ANYBODY,
    brow_height,
    inner_brow_height,
    lowered,
    raised,
)
from apportion.features.face.mesh.landmarks import FacePoints
from apportion.features.face.mesh.mouth import OPEN, is_open

LOOKS = st.lists(st.floats(0.1, 0.28) | st.just(math.nan), min_size=1, max_size=60)


def face(brows: float = 0.23, inner: float = 0.2, scale: float = 100.0, roll: float = 0.0) -> FacePoints:
    """A frontal face with brows so high above the bridge of the nose, in eye distances."""
    points = np.zeros((468, 3))
    points[[10, 152, 33, 263], :2] = [(0.0, -0.6), (0.0, 1.2), (-0.5, 0.0), (0.5, 0.0)]
    points[list(BRIDGE), 1] = [-0.02, 0.06]
    points[list(BROWS), 1], points[list(INNER_ENDS), 1] = 0.02 - brows, 0.02 - inner
    turn = np.array([[math.cos(roll), -math.sin(roll)], [math.sin(roll), math.cos(roll)]])
    points[:, :2] = scale * points[:, :2] @ turn.T + 300.0
    return FacePoints(points, 1.0)


@given(st.floats(0.1, 0.4), st.floats(0.1, 0.4), st.floats(20, 900), st.floats(-3, 3))
def test_heights_are_in_eye_distances_whatever_the_size_and_roll(brows, inner, scale, roll):
    points = face(brows, inner, scale, roll)
    assert brow_height(points) == pytest.approx(brows, abs=1e-6)
    assert inner_brow_height(points) == pytest.approx(inner, abs=1e-6)


def test_brows_are_raised_and_lowered_against_ones_own_median():
    for usual in (0.19, 0.21):
        heights = np.array([usual] * 40 + [usual + 0.025] * 5 + [usual - 0.035] * 5 + [math.nan])
        assert raised(heights).tolist()[:-1] == [0.0] * 40 + [1.0] * 5 + [0.0] * 5
        assert lowered(heights).tolist()[:-1] == [0.0] * 45 + [1.0] * 5
        assert math.isnan(raised(heights)[-1]) and math.isnan(lowered(heights)[-1])
    assert lowered(np.array([0.26] * 40 + [0.2] * 10)).sum() == 0
    assert raised(np.full(60, RAISED_ON_ANYBODY)).tolist() == [1.0] * 60
    few = np.array([RAISED_ON_ANYBODY, 0.2])
    assert raised(few)[0] == 1.0 and math.isnan(raised(few)[1])


@given(LOOKS)
def test_without_a_median_of_ones_own_nothing_is_said_of_lower_brows(values):
    heights = np.array(values)
    enough = np.isfinite(heights).sum() >= CALIBRATION_LOOKS
    for decided in (raised(heights), lowered(heights)):
        assert (np.isfinite(decided) == (np.isfinite(heights) & enough)).all()


def test_a_mouth_is_open_beyond_bared_teeth():
    told = is_open(np.array([0.03, 0.17, OPEN, 0.4, math.nan]))
    assert told[:4].tolist() == [0.0, 0.0, 1.0, 1.0] and math.isnan(told[4])
