import numpy as np
import pytest

from features.faces import Face, FaceFollower
from features.media import open_recording
from features.settings import FeatureSettings
from features.video import read_pictures
from tests.features.clips import astronaut, flat, moving, wave
from tests.shared import shared

SETTINGS = FeatureSettings()


def _follow(pictures, settings: FeatureSettings = SETTINGS) -> list[Face | None]:
    follower = FaceFollower(settings)
    return [follower.follow(picture) for picture in pictures]


def test_nothing_is_no_face():
    noise = np.random.default_rng(0).integers(0, 255, (6, 180, 320), dtype=np.uint8)
    assert _follow([flat(width=320, height=180)] * 6) == [None] * 6
    assert _follow(list(noise)) == [None] * 6


def test_a_moving_face_is_followed_smoothly():
    times = np.arange(0.0, 6.0, 0.1)
    faces = _follow(moving(astronaut(320), lambda t: (wave(t, 1, 3, 1.0, 6), wave(t, 2, 3, 1.5, 9)), times))
    centres = np.array([face.centre for face in faces])
    truth = np.array([(wave(t, 1, 3, 1.0, 6), wave(t, 2, 3, 1.5, 9)) for t in times])
    error = (centres - centres[0]) - truth
    assert np.abs(error).max() < 0.04 * faces[0].height  # far below the 0.1 face heights that make a nod
    assert {face.identity for face in faces} == {1}


def test_the_followed_face_wins_over_a_larger_one():
    face = astronaut(320)
    small = np.full((320, 640), 90, dtype=np.uint8)
    small[30:286, 20:276] = astronaut(256)
    both = small.copy()
    both[:, 320:] = face
    settings = FeatureSettings(face_min_fraction=0.04)
    faces = _follow([small] * 6 + [both] * 12, settings)
    assert faces[0].centre[0] < 300
    assert all(f.centre[0] == pytest.approx(faces[0].centre[0], abs=3) for f in faces)
    assert FaceFollower(settings).follow(both).centre[0] > 320  # who comes first takes the largest


def test_a_face_that_leaves_is_lost_and_gets_a_new_identity():
    face, empty = astronaut(320), flat(width=320, height=320)
    settings = FeatureSettings(detector_every=2, face_patience=2)
    faces = _follow([face] * 4 + [empty] * 8 + [face] * 4, settings)
    assert all(f is not None and f.identity == 1 for f in faces[:4])
    assert faces[11] is None
    assert faces[15] is not None
    assert faces[15].identity == 2


def test_face_box_arithmetic():
    face = Face(10.0, 20.0, 30.0, 40.0, identity=3)
    assert face.centre == (25.0, 40.0)
    assert face.scaled(2.0) == Face(20.0, 40.0, 60.0, 80.0, identity=3)
    assert face.towards(Face(20.0, 20.0, 30.0, 20.0), 0.5) == Face(15.0, 20.0, 30.0, 30.0, identity=3)
    assert face.crop(flat(width=64, height=48)).shape == (28, 30)
    assert face.scaled(10.0).crop(flat(width=64, height=48)).size == 0
    assert Face(-20.0, -20.0, 10.0, 10.0).crop(flat()).size == 0


def test_a_film_without_a_face():
    path = shared("media/no_face.mp4")
    with open_recording(path.parent, path.name, 1.0) as recording:
        pictures = read_pictures(recording, recording.stream("video"), 10.0, 320)
        assert _follow(picture.grey for picture in pictures) == [None] * 40
