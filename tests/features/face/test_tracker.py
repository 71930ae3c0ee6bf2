import numpy as np
import pytest

from apportion.features.face.backends.haar import HaarDetector
from apportion.features.face.detector import open_detector
from apportion.features.face.face import Face
from apportion.features.face.tracker import FaceTracker, FaceVisibility, _median
from apportion.features.media_io.media import open_recording
from apportion.features.media_io.video import Picture, read_pictures
from apportion.features.settings import FeatureSettings
from tests.features.clips import astronaut, flat, moving, wave
from tests.shared import shared

SETTINGS = FeatureSettings()


class Told:
    """A detector that sees what a test says: faces by picture time, rounded to tenths of a second."""

    steady = False

    def __init__(self, faces: dict[float, list[Face]]) -> None:
        self.faces, self.asked = faces, 0

    def find(self, picture, small, near):
        self.asked += 1
        return self.faces.get(round(picture.time_s, 1), [])


def _watch(pictures, settings=SETTINGS, detector=None, rate_hz=10.0) -> list[Face | None]:
    """The face in every picture, with what is withdrawn afterwards taken back."""
    tracker = FaceTracker(settings, detector or open_detector(settings))
    seen: list[FaceVisibility] = []
    for number, picture in enumerate(pictures):
        made = picture if isinstance(picture, Picture) else Picture(number / rate_hz, picture)
        seen += tracker.update(made)
        if tracker.withdrawn_from_s is not None:
            since = tracker.withdrawn_from_s
            seen = [FaceVisibility(s.picture, s.face if s.picture.time_s < since else None) for s in seen]
    seen += tracker.finish()
    times = [s.picture.time_s for s in seen]
    assert times == sorted(set(times))  # every picture once, in order
    return [s.face for s in seen]


@pytest.mark.parametrize("count", range(1, 45))
@pytest.mark.parametrize("size", [1e-3, 1.0, 300.0])
def test_the_median_is_numpy_s_to_the_bit(count: int, size: float):
    steps = np.random.default_rng(count).normal(0, size, (count, 2)).astype(np.float32)
    assert np.array_equal(_median(steps), np.median(steps, axis=0))


def test_noise_a_film_without_a_face_and_a_place_outside_the_picture_are_no_face():
    noise = np.random.default_rng(0).integers(0, 255, (6, 180, 320), dtype=np.uint8)
    assert _watch([flat(width=320, height=180)] * 7) == [None] * 7
    assert _watch(list(noise)) == [None] * 6
    assert HaarDetector(SETTINGS).find(Picture(0.0, flat()), flat(), Face(200.0, 200.0, 30.0)) == []
    path = shared("media/no_face.mp4")
    with open_recording(path.parent, path.name, 1.0) as recording:
        pictures = read_pictures(recording, recording.stream("video"), 10.0)
        assert _watch(pictures) == [None] * 40


def test_a_moving_face_is_followed_smoothly():
    times = np.arange(0.0, 6.0, 0.1)
    faces = _watch(moving(astronaut(320), lambda t: (wave(t, 1, 3, 1.0, 6), wave(t, 2, 3, 1.5, 9)), times))
    centres = np.array([face.centre for face in faces])
    truth = np.array([(wave(t, 1, 3, 1.0, 6), wave(t, 2, 3, 1.5, 9)) for t in times])
    error = (centres - centres[0]) - truth
    assert np.abs(error).max() < 0.04 * faces[0].side  # far below the 0.1 face heights that make a nod
    assert {face.identity for face in faces} == {1}


def test_the_followed_face_wins_over_a_larger_one():
    small = np.full((320, 640), 90, dtype=np.uint8)
    small[30:286, 20:276] = astronaut(256)
    both = small.copy()
    both[:, 320:] = astronaut(320)
    settings = FeatureSettings(face_min_fraction=0.04, face_width_px=640)
    faces = _watch([small] * 6 + [both] * 12, settings)
    assert faces[0].centre[0] < 300
    assert all(f.centre[0] == pytest.approx(faces[0].centre[0], abs=3) for f in faces)
    assert _watch([both], settings)[0].centre[0] > 320  # who comes first takes the largest


def test_a_lost_face_keeps_its_place_before_a_stranger_takes_it():
    left, right = np.full((320, 640), 90, dtype=np.uint8), np.full((320, 640), 90, dtype=np.uint8)
    left[30:286, 20:276] = astronaut(256)
    right[30:286, 360:616] = astronaut(256)
    faces = _watch(
        [left] * 10 + [right] * 90, FeatureSettings(face_min_fraction=0.04, face_width_px=640, face_return_s=5.0)
    )
    assert all(face is not None and face.centre[0] < 320 for face in faces[:10])
    gone = [index for index, face in enumerate(faces) if face is None]
    assert gone[0] == 10
    assert 4.4 <= len(gone) / 10 <= 5.6
    assert faces[-1].centre[0] > 320


@pytest.mark.parametrize("empty_from", range(6, 11))
def test_a_face_begins_and_ends_at_the_right_picture(empty_from):
    # Whatever the detector's clock: it runs on every fifth picture and is asked about those between.
    face, empty = astronaut(320), flat(width=320, height=320)
    faces = _watch([empty] * 3 + [face] * (empty_from - 3) + [empty] * 20 + [face] * 9)
    expected = [False] * 3 + [True] * (empty_from - 3) + [False] * 20 + [True] * 9
    assert [found is not None for found in faces] == expected
    assert faces[-1].identity == 2


def test_a_face_the_flow_still_follows_is_withdrawn_when_the_detector_never_sees_it_again():
    picture, box = astronaut(320), Face(90.0, 20.0, 120.0)
    faces = _watch([picture] * 60, detector=Told({time / 10: [box] for time in range(23)}))
    # Three runs in vain lose it, and halving finds the last picture in which it was there.
    assert [face is not None for face in faces] == [True] * 23 + [False] * 37


def test_one_run_in_vain_does_not_lose_a_face_but_what_it_tells_is_doubted():
    picture, box = astronaut(320), Face(90.0, 20.0, 120.0)
    tracker = FaceTracker(SETTINGS, Told({time / 10: [box] for time in range(60) if not 18 <= time <= 22}))
    doubted = []
    for number in range(40):
        tracker.update(Picture(number / 10, picture))
        assert tracker.withdrawn_from_s is None
        doubted.append(tracker.doubted_s)
    # Asked in vain at 2.0 s: all since 1.6 s is doubted. Seen again at 2.5 s: up to then, and not that picture itself.
    assert [(number, span) for number, span in enumerate(doubted) if span is not None] == [
        (20, (pytest.approx(1.6), np.inf)),
        (25, (pytest.approx(1.6), pytest.approx(2.5))),
    ]


def test_a_cut_to_another_place_is_a_new_identity_at_once():
    left = np.full((240, 320), 90, dtype=np.uint8)
    left[:, 10:250] = astronaut(240)
    shifted = np.full((240, 320), 20, dtype=np.uint8)
    shifted[:, 30:270] = astronaut(240)[:, ::-1]
    faces = _watch([left] * 8 + [shifted] * 8)
    assert [face.identity for face in faces] == [1] * 8 + [2] * 8


@pytest.mark.parametrize(
    ("error", "seen", "identities"),
    [(30.0, True, [1] * 20), (30.0, False, [1] * 11), (50.0, True, [1] * 11 + [2] * 9)],
)
def test_a_head_that_moves_fast_is_followed_on_where_the_detector_sees_it(monkeypatch, error, seen, identities):
    """At 1.1 s the patches look much changed: ``error`` grey levels."""
    picture, box = astronaut(320), Face(90.0, 20.0, 120.0)
    detector = Told({time / 10: [box] for time in range(60) if seen or (time != 11 and time < 12)})
    flow = FaceTracker._flow

    def changed(self, before, step, face):
        moved, found = flow(self, before, step, face)
        return moved, error if round(step.picture.time_s, 1) == 1.1 else found

    monkeypatch.setattr(FaceTracker, "_flow", changed)
    assert [face.identity for face in _watch([picture] * 20, detector=detector) if face] == identities


def test_the_detector_is_asked_at_its_own_rate():
    picture, box = astronaut(320), Face(90.0, 20.0, 120.0)
    detector = Told({time / 10: [box] for time in range(100)})
    _watch([picture] * 100, FeatureSettings(detector_rate_hz=1.0), detector)
    assert detector.asked <= 12


def test_a_followed_face_waits_for_a_free_answer_but_not_for_long():
    picture, box = astronaut(320), Face(90.0, 20.0, 120.0)

    def asked_about(free: range) -> list[int]:
        detector = Told({time / 10: [box] for time in range(30)})
        tracker, asked = FaceTracker(SETTINGS, detector), []
        for number in range(30):
            before = detector.asked
            tracker.update(Picture(number / 10, picture), number in free)
            asked += [number] if detector.asked > before else []
        return asked

    assert asked_about(range(30)) == [0, 5, 10, 15, 20, 25]
    assert asked_about(range(0, 30, 3)) == [0, 6, 12, 18, 24]
    assert asked_about(range(0)) == [0, 8, 16, 24]


def test_steady_back_ends_are_asked_for_every_picture():
    detector = Told({time / 10: [Face(90.0 + time, 20.0, 120.0)] for time in range(20)})
    detector.steady = True
    faces = _watch([flat(width=320, height=240)] * 25, detector=detector)
    assert [face and face.x for face in faces] == [90.0 + time for time in range(20)] + [None] * 5
    assert {face.identity for face in faces if face} == {1}


@pytest.mark.parametrize("detector", ["haar", "yunet"])
def test_both_back_ends_see_the_same_square(detector):
    model = shared("models/face_detection_yunet_2026may.onnx") if detector == "yunet" else None
    settings = FeatureSettings(detector=detector, yunet_model=model)
    import cv2

    from tests.features.planted import drawn

    grey = cv2.cvtColor(drawn("ana"), cv2.COLOR_BGR2GRAY)
    (face,) = open_detector(settings).find(Picture(0.0, grey), grey, None)
    near = open_detector(settings).find(Picture(0.0, grey), grey, face)[0]
    for found in (face, near):
        # Its eyes are at (127, 138) and (186, 141), its mouth's middle is 55 px below them.
        assert found.side == pytest.approx(132, rel=0.12)
        assert found.centre == (pytest.approx(157, abs=6), pytest.approx(156, abs=10))
        assert found.eye_middles()[0] == (pytest.approx(127, abs=5), pytest.approx(138, abs=6))
        assert found.eye_middles()[1] == (pytest.approx(186, abs=5), pytest.approx(141, abs=6))
