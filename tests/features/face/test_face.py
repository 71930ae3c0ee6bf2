from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.features.face.backends.haar import HaarDetector
from apportion.features.face.choice import chosen_detector, decided, missing_mesh, named
from apportion.features.face.detector import open_detector
from apportion.features.face.face import EYES, MOUTH_DOWN, Face, Landmarks, face_of_landmarks
from apportion.features.face.mesh.detector import MeshDetector
from apportion.features.settings import FeatureSettings
from tests.features.clips import flat
from tests.features.face.mesh.networks_here import mesh_here  # noqa: F401

PLACES = st.floats(-100, 100)
SIDES = st.floats(10, 300)


def test_crop_keeps_to_the_picture_and_a_turned_head_its_size():
    face = Face(10.0, 20.0, 30.0, identity=3)
    assert face.centre == (25.0, 35.0)
    assert face.crop(flat(width=64, height=48)).shape == (28, 30)
    assert face.scaled(10.0).crop(flat(width=64, height=48)).size == 0
    assert Face(-20.0, -20.0, 10.0).crop(flat()).size == 0
    assert face.crop(np.zeros((48, 64, 3), np.uint8)).shape == (28, 30, 3)
    turned = face_of_landmarks(((50.0, 50.0), (60.0, 50.0)), (55.0, 92.0))
    assert turned.side == pytest.approx(100.0)


def test_towards_moves_and_sizes_and_takes_the_newer_reading():
    landmarks = Landmarks(0.5, 0.0, 1.0, 2.0)
    face = Face(20.0, 40.0, 60.0, identity=3)
    # The square goes half of the way, the head a tenth of it, from (50, 70) towards (50, 50).
    assert face.towards(Face(40.0, 40.0, 20.0, landmarks=landmarks), 0.5, 0.1) == Face(
        30.0, 40.0, 40.0, identity=3, landmarks=landmarks, head=(50.0, 68.0)
    )
    seen = Face(0.0, 0.0, 10.0, ((0.0, 0.0), (2.0, 0.0)))
    eyes = seen.towards(Face(0.0, 0.0, 10.0, ((1.0, 1.0), (3.0, 1.0))), 0.5, 0.5)
    assert eyes.eyes == ((0.5, 0.5), (2.5, 0.5))


@given(PLACES, PLACES, SIDES, st.floats(0.1, 8.0))
def test_eyes_move_and_scale_with_the_face(x, y, side, factor):
    plain = Face(x, y, side)
    seen = Face(x, y, side, plain.eye_middles())
    for changed in (lambda face: face.scaled(factor), lambda face: face.moved(3.0, -2.0)):
        assert np.allclose(changed(seen).eye_middles(), changed(plain).eye_middles(), atol=1e-9 * 1e4)


@given(PLACES, PLACES, SIDES)
def test_a_square_comes_back_from_its_own_landmarks(x, y, side):
    eyes = tuple((x + across * side, y + down * side) for across, down in EYES)
    face = face_of_landmarks(eyes, (x + side / 2, y + MOUTH_DOWN * side))
    assert (face.x, face.y, face.side) == pytest.approx((x, y, side), abs=1e-6)


@given(PLACES, PLACES, SIDES, PLACES, PLACES, SIDES)
def test_overlap_is_symmetric_and_at_most_one(x, y, side, u, v, other):
    a, b = Face(x, y, side), Face(u, v, other)
    assert a.overlap(b) == pytest.approx(b.overlap(a))
    assert 0.0 <= a.overlap(b) <= 1.0 + 1e-12
    assert math.isclose(a.overlap(a), 1.0)


AUTO = FeatureSettings()


@pytest.fixture
def mesh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has the mesh, as far as the choice looks."""
    monkeypatch.setattr("apportion.features.face.choice.find_mesh", lambda: Path("there"))


def test_without_the_mesh_haar_stands_in_and_what_was_decided_holds_wherever_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
):
    assert AUTO.detector == "auto" and chosen_detector(AUTO) == "haar"
    assert isinstance(open_detector(AUTO), HaarDetector)
    told = missing_mesh(AUTO)
    assert told is not None and "apportion models fetch mesh" in told and 'detector = "haar"' in told
    without = decided(AUTO)
    monkeypatch.setattr("apportion.features.face.choice.find_mesh", lambda: Path("there"))
    assert chosen_detector(without) == "haar" and missing_mesh(without) is not None
    assert decided(without) == without
    assert chosen_detector(decided(AUTO)) == "mesh"
    assert named(without) == FeatureSettings(detector="haar") and named(AUTO) == FeatureSettings(detector="mesh")


@pytest.mark.usefixtures("mesh")
def test_with_the_mesh_it_is_taken_without_a_word():
    assert chosen_detector(AUTO) == "mesh" and missing_mesh(AUTO) is None


@pytest.mark.usefixtures("mesh_here")
def test_the_published_networks_are_taken():
    assert isinstance(open_detector(AUTO), MeshDetector)


@pytest.mark.parametrize("name", ["haar", "yunet", "mesh", "mediapipe"])
def test_what_was_named_stays(name):
    settings = FeatureSettings(detector=name)
    assert chosen_detector(settings) == name and missing_mesh(settings) is None
    assert decided(settings) == named(settings) == settings
