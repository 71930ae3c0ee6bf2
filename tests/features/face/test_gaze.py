import math

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.features.face.detector import open_detector
from apportion.features.face.face import Face
from apportion.features.face.gaze import eye_log_ratio, gaze_log_ratio, on_screen
from apportion.features.face.tracker import FaceTracker
from apportion.features.media_io.video import Picture
from apportion.features.settings import FeatureSettings
from tests.features.clips import flat
from tests.features.planted import drawn
from tests.shared import shared

SETTINGS = FeatureSettings()

LIMIT = math.log(1.5)
FACE = Face(91.0, 90.0, 132.0)
"""Where the drawn face is."""


def test_a_face_too_small_has_no_gaze_and_one_without_eyes_looks_ahead():
    assert math.isnan(gaze_log_ratio(flat(width=160, height=160), Face(10.0, 10.0, 30.0)))
    assert gaze_log_ratio(flat(width=160, height=160), Face(10.0, 10.0, 100.0)) == 0.0
    assert math.isfinite(gaze_log_ratio(drawn("ana")[..., 1], Face(-60.0, -40.0, 132.0)))


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_glances_of_a_drawn_face(scale):
    grey = {glance: cv2.cvtColor(drawn("ana", glance=glance), cv2.COLOR_BGR2GRAY) for glance in (-1.0, 0.0, 1.0)}
    sized = {glance: cv2.resize(picture, None, fx=scale, fy=scale) for glance, picture in grey.items()}
    left, ahead, right = (gaze_log_ratio(sized[glance], FACE.scaled(scale)) for glance in (-1.0, 0.0, 1.0))
    assert left < ahead - LIMIT
    assert right > ahead + LIMIT


def _drawn_eye(iris_x: int) -> np.ndarray:
    eye = flat(70, width=40, height=20)
    cv2.ellipse(eye, (20, 10), (17, 7), 0, 0, 360, 220, -1)
    cv2.circle(eye, (iris_x, 10), 6, 30, -1)
    return eye


def test_the_side_with_more_white_is_told_against_the_person_s_own_middle():
    left, ahead, right = (eye_log_ratio(_drawn_eye(x)) for x in (11, 20, 29))
    assert left < -math.log(1.6) < math.log(1.6) < right
    assert abs(ahead) < math.log(1.2)
    looking = on_screen(np.array([0.5, 0.5, 0.52, math.nan, 1.4, -0.4]), LIMIT)
    np.testing.assert_array_equal(looking, [1, 1, 1, math.nan, 0, 0])
    assert np.isnan(on_screen(np.array([math.nan, math.nan]), LIMIT)).all()
    assert len(on_screen(np.zeros(0), LIMIT)) == 0


@given(st.lists(st.integers(-20, 20), min_size=1), st.integers(-5, 5))
def test_light_from_one_side_changes_nothing(ratios, light):
    values = np.array(ratios, dtype=np.float64) / 8
    np.testing.assert_array_equal(on_screen(values, LIMIT), on_screen(values + light, LIMIT))


def test_eyes_of_a_real_face_are_read():
    grey = cv2.imread(str(shared("media/single_face.jpg")), cv2.IMREAD_GRAYSCALE)
    (seen,) = FaceTracker(SETTINGS, open_detector(SETTINGS)).update(Picture(0.0, grey))
    assert seen.face is not None
    assert math.isfinite(gaze_log_ratio(grey, seen.face))
