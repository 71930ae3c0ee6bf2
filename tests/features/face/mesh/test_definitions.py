"""What points tell, on points whose answer is known."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.features.face.face import Face
from apportion.features.face.mesh.crop import Crop
from apportion.features.face.mesh.eyes import NO_EYES, Eyes, blinks, eye_opening, iris_lift, iris_turn
from apportion.features.face.mesh.gaze import gaze_confidence, gaze_yaw, on_screen
from apportion.features.face.mesh.head_pose import CANONICAL, NO_POSE, HeadPose, head_pose
from apportion.features.face.mesh.landmarks import FacePoints, crop_of_face
from apportion.features.face.mesh.mouth import mouth_opening
from apportion.features.face.mesh.smile import mouth_log_odds, smile_score

PLACES = np.array(list(CANONICAL.values()))
WIDTH, HEIGHT = 640, 480
ANGLES = st.floats(-40, 40)


def turned(yaw: float, pitch: float, roll: float, place: tuple[float, float, float]) -> FacePoints:
    """The canonical face at ``place`` (eye distances, camera's space), turned from the line to the camera."""
    y, p, r = np.radians((yaw, pitch, roll))
    x, z = place[0], place[2]
    aside, below = math.atan2(-x, z), math.asin(-place[1] / math.sqrt(x * x + place[1] ** 2 + z * z))
    # The face looks along -z: yaw turns that to the right, pitch down.
    about_y = cv2.Rodrigues(np.array([0.0, -(y + aside), 0.0]))[0]
    about_x = cv2.Rodrigues(np.array([p + below, 0.0, 0.0]))[0]
    about_z = cv2.Rodrigues(np.array([0.0, 0.0, r]))[0]
    camera = np.array([[WIDTH, 0, WIDTH / 2], [0, WIDTH, HEIGHT / 2], [0, 0, 1.0]])
    seen = (camera @ ((about_y @ about_x @ about_z) @ PLACES.T + np.array(place)[:, None])).T
    points = np.zeros((468, 3))
    points[list(CANONICAL), :2] = seen[:, :2] / seen[:, 2:]
    return FacePoints(points, 1.0)


def face(
    width: float = 0.545, lift: float = 0.0, opening: float = 0.335, gap: float = 0.02, below_nose: float = 0.18
) -> FacePoints:
    """A frontal face with this mouth and these eyes, in units of 100 pixels an eye distance."""
    points = np.zeros((468, 3))
    points[[10, 152, 33, 133, 362, 263], :2] = [(0, -60), (0, 120), (-50, 0), (-20, 0), (20, 0), (50, 0)]
    lids = ((159, 145, -35), (158, 153, -30), (160, 144, -40), (386, 374, 35), (385, 380, 30), (387, 373, 40))
    for above, below, x in lids:
        points[above, :2], points[below, :2] = (x, -15 * opening), (x, 15 * opening)
    points[[61, 291], :2] = [(-50 * width, 70 - 100 * lift), (50 * width, 70 - 100 * lift)]
    points[[13, 14], :2] = [(0, 70 - 50 * gap), (0, 70 + 50 * gap)]
    points[2, :2] = (0, 70 - 100 * lift - 100 * below_nose)
    return FacePoints(points, 1.0)


@given(st.floats(-50, 700), st.floats(-50, 500), st.floats(5, 900), st.floats(-3.1, 3.1), st.integers(16, 200))
def test_points_of_a_crop_go_back_where_they_came_from(x, y, side, roll, size):
    crop = Crop(x, y, side, roll)
    there = np.array([(1.0, 2.0), (size / 2, size / 2), (size, 0.0)])
    back = crop.back(there, size)
    assert back[1] == pytest.approx((x, y), abs=1e-6)
    matrix = crop.matrix(size)
    assert back @ matrix[:, :2].T + matrix[:, 2] == pytest.approx(there, abs=1e-6)
    assert crop.moved_share(crop) == pytest.approx(0.0, abs=1e-9)


def test_crops_are_upright_and_below_the_middle_of_a_followed_face():
    picture = np.zeros((60, 60), np.uint8)
    picture[20:40, 29:31] = 255  # a line from top to bottom
    lying = Crop(30, 30, 40, math.pi / 2).cut(picture, 40)
    assert lying[20].mean() > 100 and lying[:, 20].mean() < 30
    assert Crop(500, 500, 40).cut(picture, 40).max() == 0
    assert Crop(0, 0, 10).moved_share(Crop(1, 0, 15)) == pytest.approx(0.5)
    upright = crop_of_face(Face(100, 100, 100))
    assert (upright.x, upright.y, upright.side, upright.roll) == pytest.approx((150, 156.8, 160, 0))
    lying = crop_of_face(Face(100, 100, 100, eyes=((150, 100), (150, 200))))
    assert (lying.x, lying.y, lying.roll) == pytest.approx((143.2, 150, math.pi / 2))


@given(ANGLES, ANGLES, st.floats(-60, 60), st.floats(-1.5, 1.5), st.floats(-1, 1), st.floats(4, 12))
def test_the_pose_of_a_turned_face_is_found_wherever_it_is(yaw, pitch, roll, x, y, z):
    pose = head_pose(turned(yaw, pitch, roll, (x, y, z)), WIDTH, HEIGHT)
    assert (pose.yaw, pose.pitch) == pytest.approx((yaw, pitch), abs=0.1)
    if yaw == pitch == x == y == 0:
        assert pose.roll == pytest.approx(roll, abs=0.1)


def test_points_that_are_no_face_have_no_pose():
    nowhere = head_pose(FacePoints(np.full((468, 3), np.nan), 1.0), WIDTH, HEIGHT)
    assert math.isnan(nowhere.yaw) and math.isnan(nowhere.pitch) and math.isnan(nowhere.roll)


def test_a_smile_needs_corners_that_go_aside_and_up():
    def score(**mouth: float) -> float:
        return smile_score(face(**mouth), lambda: (0.0, 1.0), 0.55)

    broad = {"width": 0.73, "lift": 0.058}
    assert score() < 0.3 and score(width=0.73, lift=0.058) > 0.9
    assert score(**broad, opening=0.25) > score(**broad)  # and the cheeks go up
    assert score(width=0.6) < 0.55  # a mouth that speaks
    assert score(lift=0.05) < 0.55  # a narrow one that is open
    assert score(**broad, below_nose=0.45) < 0.55 < score(**broad, below_nose=0.27)  # a shout: the lower lip went
    assert score(**broad, gap=0.3) < score(**broad)
    assert mouth_opening(face(gap=0.3)) == pytest.approx(0.3)


def test_the_score_is_the_logistic_regression_s_times_the_share_of_calm_faces():
    terms = {"width": 0.6, "lift": 0.03, "below_nose": 0.22, "opening": 0.3, "gap": 0.1}
    mouth = -5.458 + 18.31 * 0.6 + 20.47 * 0.03 - 21.08 * 0.22 - 4.97 * 0.3 - 1.5 * 0.1
    for happy, counted, calm in ((2.0, 2.0, 0.8), (99.0, 12.0, 1.0), (-99.0, -12.0, 0.1)):
        expected = calm / (1 + math.exp(-(mouth + 0.156 * counted)))
        found = smile_score(face(**terms), lambda told=(happy, calm): told, 0.1)
        assert found == pytest.approx(expected, abs=2e-3)  # the lips' middle is a point of its own


def test_the_whole_face_is_asked_only_where_it_can_matter():
    asked = []

    def whole() -> tuple[float, float]:
        asked.append(None)
        return 12.0, 1.0

    still, broad = face(), face(width=0.73, lift=0.058)
    at_best = 1 / (1 + math.exp(-(mouth_log_odds(still) + 0.156 * 12)))
    assert smile_score(still, whole, at_best + 1e-6) < at_best and asked == []
    assert smile_score(still, whole, at_best - 1e-6) == pytest.approx(at_best) and len(asked) == 1
    assert smile_score(broad, whole, 0.55) > 0.9 and len(asked) == 2


@given(st.floats(0.5, 0.8), st.floats(-0.02, 0.1), st.floats(0.2, 0.4), st.floats(0.1, 10), st.floats(-3, 3))
def test_a_smile_does_not_depend_on_size_and_roll(width, lift, opening, scale, roll):
    made = face(width, lift, opening)
    turn = np.array([[math.cos(roll), -math.sin(roll), 0], [math.sin(roll), math.cos(roll), 0], [0, 0, 1]])
    moved = FacePoints(scale * made.points @ turn.T + 7, 1.0)
    assert mouth_log_odds(moved) == pytest.approx(mouth_log_odds(made), abs=1e-6)
    assert 0.0 <= smile_score(made, lambda: (0.0, 1.0), 0.55) <= 1.0


def outline(opening: float) -> np.ndarray:
    """An eye 30 wide from (10, 20) to (40, 20)."""
    points = np.full((16, 2), 20.0)
    points[0], points[8] = (10, 20), (40, 20)
    for lower, upper in ((3, 11), (4, 12), (5, 13)):
        points[lower], points[upper] = (25, 20 + 15 * opening), (25, 20 - 15 * opening)
    return points


def test_opening_and_turn_of_an_eye():
    assert eye_opening(outline(0.3)) == pytest.approx(0.3)
    assert iris_turn(outline(0.3), np.array([10 + 30 * 0.465, 19.0])) == pytest.approx(0.0)
    assert iris_turn(outline(0.3), np.array([10 + 30 * 0.665, 19.0])) == pytest.approx(30.0)
    assert iris_turn(outline(0.3), np.array([10.0, 19.0])) == pytest.approx(-90.0)
    assert iris_lift(outline(0.3), np.array([25.0, 20 - 30 * 0.072])) == pytest.approx(0.0)
    assert iris_lift(outline(0.3), np.array([25.0, 20 - 30 * 0.272])) == pytest.approx(30.0)
    assert iris_lift(outline(0.3), np.array([25.0, 40.0])) == pytest.approx(-90.0)


def seen(*given) -> np.ndarray:
    return on_screen(*given).on_screen


def test_eyes_that_look_up_in_a_still_head_are_away_and_those_of_a_bowed_head_are_not():
    still, lifts = np.zeros(4), np.array([0.0, 7.0, -30.0, math.nan])
    assert seen(still, still, lifts, 60.0, 15.0).tolist() == [1.0, 0.0, 1.0, 1.0]
    assert seen(still, still + 20.0, lifts, 60.0, 15.0).tolist() == [1.0] * 4
    assert seen(still, still - 20.0, lifts, 60.0, 15.0).tolist() == [1.0, 0.0, 1.0, 1.0]  # a raised head


def test_blinks_are_short():
    nan = math.nan
    times = [0.0, 0.4, 0.8, 1.2, 1.6, 2.0, 2.4, 2.8, 3.2]
    assert blinks(times, np.array([0, 1, 0, nan, 0, 1, 1, 0, 1])) == [(0.0, 0.8), (1.6, 2.8)]
    assert blinks(times, np.array([0, 1, 1, 1, 1, 0, 0, 0, 0])) == []  # closed, not blinking
    assert blinks(times, np.array([1, 1, 0, 0, 0, 0, 0, 0, 0])) == []  # nobody saw its beginning


def test_gaze_is_head_and_eyes_and_of_a_turned_head_the_head():
    assert gaze_yaw(HeadPose(10, 0, 0), Eyes(0.4, -8, 2)) == 2
    assert gaze_yaw(HeadPose(10, 0, 0), NO_EYES) == 10
    assert gaze_yaw(HeadPose(-50, 0, 0), Eyes(0.4, 40, 2)) == -50


def test_confidence_falls_with_what_speaks_against_it():
    straight, eyes = HeadPose(0, 0, 0), Eyes(0.4, 0, 0)
    assert gaze_confidence(1.0, straight, eyes, 40) == 1.0
    assert gaze_confidence(0.6, straight, eyes, 40) == pytest.approx(0.6)
    assert gaze_confidence(1.0, straight, eyes, 14) == pytest.approx(0.5)
    assert gaze_confidence(1.0, straight, Eyes(0.4, 0, 15), 40) == pytest.approx(0.5)
    assert gaze_confidence(1.0, straight, Eyes(0.4, 0, 60), 40) == 0.0
    assert gaze_confidence(1.0, straight, NO_EYES, 40) == 0.5
    assert gaze_confidence(0.9, HeadPose(60, 0, 0), NO_EYES, 40) == 0.9
    assert gaze_confidence(1.0, NO_POSE, eyes, 40) == 0.0


def test_the_screen_is_at_the_camera_unless_somebody_looks_about():
    level = np.zeros(100)
    aside = np.full(100, 30.0)
    assert seen(aside, level, level, 60.0, 15.0).tolist() == [0.0] * 100  # A median that is no screen.
    about = np.where(np.arange(100) < 80, 12.0, -20.0)
    assert seen(about, level, level, 10.0, 15.0)[0] == 1.0
    wide = np.where(np.arange(100) < 80, 18.0, -20.0)
    assert seen(wide, level, level, 10.0, 15.0)[0] == 0.0  # too short for a middle of one's own
    assert seen(wide, level, level, 60.0, 15.0)[[0, 99]].tolist() == [1.0, 0.0]
    assert seen(level, np.full(100, 45.0), level, 60.0, 15.0)[0] == 0.0
    assert seen(level, np.full(100, -35.0), level, 60.0, 15.0)[0] == 0.0
    unknown = seen(np.array([math.nan, 0.0]), np.array([0.0, math.nan]), np.zeros(2), 60.0, 15.0)
    assert np.isnan(unknown).all()
    assert np.isnan(seen(np.array([math.nan, 0.0]), np.zeros(2), np.zeros(2), 1.0, 15.0)).tolist() == [True, False]


def test_a_look_near_a_border_is_told_as_such_unless_another_border_decides():
    yaws, level = np.array([0.0, 12.5, 15.5, 17.9, 18.1, math.nan]), np.zeros(6)
    near = on_screen(yaws, level, level, 10.0, 15.0).near_border
    assert near[:5].tolist() == [0.0, 1.0, 1.0, 1.0, 0.0] and math.isnan(near[5])
    assert on_screen(yaws[:5], level[:5] + 60.0, level[:5], 10.0, 15.0).near_border.tolist() == [0.0] * 5
    lifts = np.array([5.0, 5.5, 8.0, 8.5, math.nan])
    assert on_screen(level[:5], level[:5], lifts, 10.0, 15.0).near_border.tolist() == [0.0, 1.0, 1.0, 0.0, 0.0]


def test_eyes_that_are_turned_far_may_differ_more():
    straight = HeadPose(0, 0, 0)
    assert gaze_confidence(1.0, straight, Eyes(0.4, 30, 30), 40) == pytest.approx(0.5)
    assert gaze_confidence(1.0, straight, Eyes(0.4, -30, 30), 40) == pytest.approx(0.5)
