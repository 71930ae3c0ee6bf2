import math

import cv2
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from features.faces import FaceFollower
from features.gaze import eye_log_ratio, gaze_log_ratio, on_screen
from features.settings import FeatureSettings
from tests.features.clips import flat
from tests.shared import shared


def test_no_eyes_no_gaze():
    assert math.isnan(gaze_log_ratio(flat(width=160, height=160)))


def test_eyes_of_a_real_face_are_found():
    grey = cv2.imread(str(shared("media/single_face.jpg")), cv2.IMREAD_GRAYSCALE)
    face = FaceFollower(FeatureSettings()).follow(grey)
    crop = cv2.resize(face.crop(grey), (160, 160), interpolation=cv2.INTER_AREA)
    assert math.isfinite(gaze_log_ratio(crop))


def _drawn_eye(iris_x: int) -> np.ndarray:
    eye = flat(70, width=40, height=40)
    cv2.ellipse(eye, (20, 22), (15, 6), 0, 0, 360, 220, -1)
    cv2.circle(eye, (iris_x, 22), 6, 30, -1)
    return eye


def test_the_side_with_more_white_is_told():
    left, ahead, right = (eye_log_ratio(_drawn_eye(x)) for x in (12, 20, 28))
    assert left < -math.log(1.6) < math.log(1.6) < right
    assert abs(ahead) < math.log(1.2)


def test_on_screen_is_relative_to_the_persons_own_middle():
    looking = on_screen(np.array([0.5, 0.5, 0.52, math.nan, 1.4, -0.4]), 1.6)
    np.testing.assert_array_equal(looking, [1, 1, 1, math.nan, 0, 0])
    assert np.isnan(on_screen(np.array([math.nan, math.nan]), 1.6)).all()
    assert len(on_screen(np.zeros(0), 1.6)) == 0


@given(st.lists(st.integers(-20, 20), min_size=1), st.integers(-5, 5))
def test_light_from_one_side_changes_nothing(ratios, light):
    values = np.array(ratios, dtype=np.float64) / 8
    np.testing.assert_array_equal(on_screen(values, 1.6), on_screen(values + light, 1.6))
