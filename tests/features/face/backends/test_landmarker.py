"""The back-end of MediaPipe: without its model, which is not on PyPI, and where it is not installed without itself."""

import math
import re
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import Media, Session, Turn
from apportion.features.extract import extract_session
from apportion.features.face.backends import landmarker
from apportion.features.face.backends.landmarker import LandmarkDetector, head_angles, landmarked_faces
from apportion.features.face.face import EYES, MOUTH_DOWN
from apportion.features.media_io.video import Picture
from apportion.features.settings import FeatureSettings
from apportion.foundation.errors import InputError, UnitError
from tests.features.clips import flat, write_movie

ANGLES = st.floats(-85, 85)
LOOKS = ("eyeLookOutLeft", "eyeLookInRight", "eyeLookInLeft", "eyeLookOutRight")


@dataclass
class Landmark:
    x: float
    y: float


@dataclass
class Shape:
    category_name: str
    score: float


@dataclass
class Result:
    face_landmarks: list[list[Any]]
    face_blendshapes: list[list[Any]]
    facial_transformation_matrixes: list[np.ndarray]


def turned(yaw_deg: float, pitch_deg: float, roll_deg: float = 0.0, scale: float = 1.0) -> np.ndarray:
    """A pose [4, 4]: rolled, then bowed by ``pitch_deg``, then turned to the right in the picture by ``yaw_deg``."""
    (sy, cy), (sp, cp), (sr, cr) = ((math.sin(a), math.cos(a)) for a in np.radians((yaw_deg, pitch_deg, roll_deg)))
    yaw = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    pitch = np.array([[1, 0, 0], [0, cp, -sp], [0, sp, cp]])
    roll = np.array([[cr, -sr, 0], [sr, cr, 0], [0, 0, 1]])
    pose = np.eye(4)
    pose[:3, :3] = scale * yaw @ pitch @ roll
    pose[:3, 3] = (1.5, -2.0, -40.0)
    return pose


def marks(x: float, y: float, side: float) -> list[Landmark]:
    """478 landmarks of a frontal face whose square is known, as fractions of the picture."""
    points = [Landmark(x + side / 2, y + side / 2)] * 478
    for (across, down), (outer, inner) in zip(EYES, ((33, 133), (263, 362)), strict=True):
        points[outer] = Landmark(x + (across - 0.1) * side, y + down * side)
        points[inner] = Landmark(x + (across + 0.1) * side, y + down * side)
    points[61], points[291] = (Landmark(x + a * side, y + MOUTH_DOWN * side) for a in (0.35, 0.65))
    return points


def shapes(smile: float = 0.0, **looks: float) -> list[Shape]:
    scores = {"_neutral": 0.0, **dict.fromkeys(LOOKS, 0.0), "mouthSmileLeft": smile, "mouthSmileRight": smile}
    return [Shape(name, score) for name, score in {**scores, **looks}.items()]


def result(*faces: tuple[list[Landmark], list[Shape], np.ndarray]) -> Result:
    return Result(*(list(part) for part in zip(*faces, strict=True)))


class Landmarker:
    """Tells the same results over and over, and keeps how many pictures it saw."""

    def __init__(self, *results: Any) -> None:
        self.results, self.seen = results, 0

    def detect(self, image: Any) -> Any:
        answer = self.results[self.seen % len(self.results)]
        self.seen += 1
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def detector(monkeypatch: pytest.MonkeyPatch):
    """Makes the detector that hears ``results``; stands in for MediaPipe's image where it is not installed."""
    try:
        import mediapipe  # noqa: F401
    except ImportError:
        stand_in = SimpleNamespace(Image=lambda format, data: data, ImageFormat=SimpleNamespace(SRGB=1))
        monkeypatch.setitem(sys.modules, "mediapipe", stand_in)

    def make(*results: Any) -> LandmarkDetector:
        told = Landmarker(*results)
        monkeypatch.setattr(landmarker, "_landmarker", lambda model: told)
        return LandmarkDetector(FeatureSettings(detector="mediapipe"))

    return make


def picture(width: int = 64, height: int = 48) -> Picture:
    frame = SimpleNamespace(
        rotation=0, reformat=lambda **_: SimpleNamespace(to_ndarray=lambda: np.zeros((height, width, 3), np.uint8))
    )
    return Picture(1.25, flat(width=width, height=height), frame)


@given(ANGLES, ANGLES, st.floats(-180, 180), st.floats(0.2, 5.0))
def test_the_pose_gives_its_angles_back_however_rolled_and_scaled(yaw, pitch, roll, scale):
    assert head_angles(turned(yaw, pitch, roll, scale)) == pytest.approx((yaw, pitch), abs=1e-6)


def test_a_head_turned_right_and_bowed_is_positive():
    assert head_angles(np.eye(4)) == (0.0, 0.0)
    # The nose, z of the canonical face, points to the right in the picture (+x), then down (-y).
    right, down = np.eye(4), np.eye(4)
    right[:3, 2] = (0.5, 0.0, 0.5)
    down[:3, 2] = (0.0, -0.5, 0.5)
    assert head_angles(right) == pytest.approx((45.0, 0.0))
    assert head_angles(down) == pytest.approx((0.0, 45.0))


@pytest.mark.parametrize("pose", [np.empty((0,)), np.eye(3), np.zeros((4, 4)), np.full((4, 4), np.nan)])
def test_what_is_no_pose_has_no_angles(pose):
    assert all(map(math.isnan, head_angles(pose)))


def test_faces_are_told_in_pixels_the_largest_first():
    near, far = marks(0.5, 0.25, 0.2), marks(0.1, 0.2, 0.1)
    faces = landmarked_faces(
        result((far, shapes(0.1), turned(0, 0)), (near, shapes(0.8), turned(20, -10))), width=320, height=320
    )
    assert [(f.x, f.y, f.side) for f in faces] == [pytest.approx((160, 80, 64)), pytest.approx((32, 64, 32))]
    assert faces[0].eyes[0] == pytest.approx((160 + 0.28 * 64, 80 + 0.37 * 64))
    landmarks = faces[0].landmarks
    assert (landmarks.smile, landmarks.look) == pytest.approx((0.8, 0.0))
    assert (landmarks.yaw_deg, landmarks.pitch_deg) == pytest.approx((20, -10))


def test_a_wide_picture_is_not_a_square_one():
    # Landmarks are fractions of width and of height: the same fractions are another face in another picture.
    wide = landmarked_faces(result((marks(0.1, 0.1, 0.5), shapes(), turned(0, 0))), width=640, height=320)[0]
    assert wide.eyes[1][0] - wide.eyes[0][0] == pytest.approx(0.44 * 0.5 * 640)


@pytest.mark.parametrize(
    ("told", "look"),
    [
        ({"eyeLookOutLeft": 0.6, "eyeLookInRight": 0.4}, 0.5),  # the person's left is the picture's right
        ({"eyeLookOutRight": 0.6, "eyeLookInLeft": 0.4}, -0.5),
        ({"eyeLookInLeft": 0.5, "eyeLookInRight": 0.5}, 0.0),  # cross-eyed, to the nose
    ],
)
def test_the_eyes_look_left_or_right_in_the_picture(told, look):
    face = landmarked_faces(result((marks(0.1, 0.1, 0.5), shapes(**told), turned(0, 0))), 320, 320)[0]
    assert face.landmarks.look == pytest.approx(look)


def test_a_face_without_its_readings_tells_none():
    whole = result((marks(0.1, 0.1, 0.5), shapes(0.9), turned(5, 5)))
    for bare in (
        Result(whole.face_landmarks, [], whole.facial_transformation_matrixes),
        Result(whole.face_landmarks, whole.face_blendshapes, []),
        Result(whole.face_landmarks, [[]], [np.empty((0,))]),
    ):
        landmarks = landmarked_faces(bare, 320, 320)[0].landmarks
        assert all(map(math.isnan, (landmarks.smile, landmarks.look, landmarks.yaw_deg, landmarks.pitch_deg)))


def test_small_faces_do_not_count(detector):
    both = result((marks(0.1, 0.1, 0.05), shapes(), turned(0, 0)), (marks(0.3, 0.3, 0.3), shapes(), turned(0, 0)))
    found = detector(both).find(picture(64, 64), flat(width=32, height=32), None)
    assert [face.side for face in found] == [pytest.approx(0.3 * 32)]


def test_a_picture_that_mediapipe_fails_on_is_told_with_its_time(detector):
    with pytest.raises(UnitError, match=r"at 1\.25 s \(Packet is gone\)"):
        detector(RuntimeError("Packet is gone.\nstack")).find(picture(), flat(), None)


def test_readings_become_series_of_the_frames(tmp_path: Path, detector, monkeypatch: pytest.MonkeyPatch):
    # One second looking ahead, one second smiling, turned and looking aside.
    still, moved = (
        result((marks(0.3, 0.3, 0.3), shapes(0.1), turned(0, 2))),
        result((marks(0.3, 0.3, 0.3), shapes(0.7, eyeLookOutLeft=0.8, eyeLookInRight=0.8), turned(25, 2))),
    )
    made = detector(*[still] * 20, *[moved] * 10)
    monkeypatch.setattr("apportion.features.face.face_features.open_detector", lambda settings: made)
    write_movie(tmp_path / "a.mp4", [flat(width=128, height=128)] * 75)
    session = Session(
        "s",
        (Turn(0, "bob", "x", 0.0, 1.8), Turn(1, "bob", "y", 2.2, 2.9)),
        media=(Media("ann", "video", "a.mp4"),),
    )
    frames, means, _ = extract_session(session, tmp_path, FeatureSettings(detector="mediapipe", emotion_model="none"))
    told = {(row["turn"], row["feature"]): row["mean"] for row in means.to_pylist()}
    assert [told[turn, "smile"] for turn in (0, 1)] == [0.0, 1.0]
    assert [told[turn, "gaze_on_screen"] for turn in (0, 1)] == [1.0, 0.0]
    values: dict[str, list[float]] = {}
    for row in frames.to_pylist():
        values.setdefault(row["feature"], []).append(row["value"])
    assert values["head_yaw_deg"] == pytest.approx([0.0] * 20 + [25.0] * 10)
    assert values["head_pitch_deg"] == pytest.approx([2.0] * 30)
    assert sorted({round(value, 6) for value in values["smile_score"]}) == [0.1, 0.7]
    assert sorted({round(value, 6) for value in values["gaze_look"]}) == [0.0, 0.8]


# Errors


def opened(model: Path | None) -> LandmarkDetector:
    return LandmarkDetector(FeatureSettings(detector="mediapipe", landmarker_model=model))


def test_no_model_a_missing_one_and_a_folder_are_told(tmp_path: Path):
    with pytest.raises(InputError, match=re.escape("needs features.landmarker_model")):
        opened(None)
    with pytest.raises(InputError, match=r"none\.task: No such file.*Correct the path.*face_landmarker\.task"):
        opened(tmp_path / "none.task")
    with pytest.raises(InputError, match="Is a directory"):
        opened(tmp_path)


def test_a_missing_package_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.task").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "mediapipe", None)
    monkeypatch.setitem(sys.modules, "mediapipe.tasks.python", None)
    with pytest.raises(InputError, match=r"package mediapipe cannot be loaded.*apportion\[mediapipe\].*haar"):
        opened(tmp_path / "a.task")


def test_real_mediapipe_refuses_other_files_in_our_words(tmp_path: Path):
    pytest.importorskip("mediapipe", reason="mediapipe is an optional extra (docs/guides/install.md)")
    (tmp_path / "empty.task").write_bytes(b"")
    (tmp_path / "text.task").write_text("not a model")
    with zipfile.ZipFile(tmp_path / "bundle.task", "w") as bundle:
        bundle.writestr("a.txt", "b")
    for name, cause in (("empty", ""), ("text", "zip archive"), ("bundle", r"face_detector\.tflite")):
        with pytest.raises(InputError, match=rf"{name}\.task: not a FaceLandmarker file.*{cause}"):
            opened(tmp_path / f"{name}.task")


def test_real_mediapipe_results_are_read():
    vision = pytest.importorskip("mediapipe.tasks.python.vision", reason="mediapipe is an optional extra")
    from mediapipe.tasks.python.components.containers.category import Category
    from mediapipe.tasks.python.components.containers.landmark import NormalizedLandmark
    from mediapipe.tasks.python.vision.face_landmarker import Blendshapes

    told = vision.FaceLandmarkerResult(
        [[NormalizedLandmark(x=p.x, y=p.y, z=0.0) for p in marks(0.25, 0.25, 0.5)]],
        [[Category(index=0, score=s.score, category_name=s.category_name) for s in shapes(0.6, eyeLookInLeft=0.4)]],
        [turned(-30, 15).astype(np.float32)],
    )
    face = landmarked_faces(told, 200, 200)[0]
    assert (face.x, face.y, face.side) == pytest.approx((50, 50, 100))
    landmarks = face.landmarks
    assert (landmarks.smile, landmarks.look, landmarks.yaw_deg, landmarks.pitch_deg) == pytest.approx(
        (0.6, -0.2, -30, 15)
    )
    names = {shape.name.lower().replace("_", "") for shape in Blendshapes}
    assert {name.lower() for name in (*LOOKS, "mouthSmileLeft", "mouthSmileRight")} <= names
    connections = vision.FaceLandmarksConnections
    right = {c.start for c in connections.FACE_LANDMARKS_RIGHT_EYE} | {133}
    left = {c.start for c in connections.FACE_LANDMARKS_LEFT_EYE} | {362}
    assert set(landmarker.EYE_CORNERS[0]) <= right and set(landmarker.EYE_CORNERS[1]) <= left
    assert set(landmarker.MOUTH_CORNERS) <= {e for c in connections.FACE_LANDMARKS_LIPS for e in (c.start, c.end)}
