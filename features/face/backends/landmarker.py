"""Faces by MediaPipe's FaceLandmarker: landmarks, pose of the head, direction of the eyes, smile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apportion.features.face.face import Face, Landmarks, Point, face_of_landmarks
from apportion.features.media_io.video import Grey, Picture
from apportion.features.settings import FeatureSettings
from apportion.foundation.errors import InputError, UnitError

MOST_FACES = 5
EYE_CORNERS = ((33, 133), (362, 263))
"""Landmarks of the person's right and left eye: outer and inner corner, which do not move with the gaze."""
MOUTH_CORNERS = (61, 291)
NO_LANDMARKS = Landmarks(math.nan, math.nan, math.nan, math.nan)
NEXT_STEP = (
    "Get face_landmarker.task (https://ai.google.dev/edge/mediapipe/solutions/vision/face_landmarker), "
    'or take detector = "haar".'
)


class LandmarkDetector:
    """MediaPipe's FaceLandmarker (extra `mediapipe`) with the .task file that the user gives.

    Every picture is looked at by itself (running mode IMAGE). The mode VIDEO would follow landmarks from one picture to
    the next: it refuses a picture that is older than the last one, smooths quick nods away where it is told of one
    person, looks for faces in every picture all the same where it may be several, and carries the past of one recording
    into the next. Single pictures have no past, so that one landmarker serves all people and recordings of a process,
    memory does not grow, and a picture's answer depends on nothing but the picture.
    """

    steady = True

    def __init__(self, settings: FeatureSettings) -> None:
        self._smallest = settings.face_min_fraction
        self._landmarker = _landmarker(settings.landmarker_model)

    def find(self, picture: Picture, small: Grey, near: Face | None) -> list[Face]:
        """See ``FaceDetector.find``; the landmarks are looked for in the colours of the whole ``picture``, largest
        first. Raises ``UnitError`` where MediaPipe fails on the picture."""
        import mediapipe

        image = mediapipe.Image(mediapipe.ImageFormat.SRGB, np.ascontiguousarray(picture.colours()))
        try:
            result = self._landmarker.detect(image)
        except (RuntimeError, ValueError, OSError) as error:
            raise UnitError(
                f"MediaPipe failed on the picture at {picture.time_s:.2f} s ({_cause(error)}). "
                'Take another features.detector ("haar", "yunet") for this recording.'
            ) from None
        faces = landmarked_faces(result, small.shape[1], small.shape[0])
        return [face for face in faces if face.side >= self._smallest * small.shape[1]]


def landmarked_faces(result: Any, width: int, height: int) -> list[Face]:
    """Faces of a ``FaceLandmarkerResult`` in a picture of ``width`` x ``height`` pixels, the largest first.

    A face whose blend shapes or pose are missing has landmarks of NaN.
    """
    count = len(result.face_landmarks)
    shapes, poses = result.face_blendshapes, result.facial_transformation_matrixes
    landmarks_of_each = [NO_LANDMARKS] * count
    if len(shapes) == len(poses) == count:
        landmarks_of_each = [_landmarks(face_shapes, pose) for face_shapes, pose in zip(shapes, poses, strict=True)]
    faces = []
    for points, landmarks in zip(result.face_landmarks, landmarks_of_each, strict=True):
        first, second = sorted(_middle(points, corners, width, height) for corners in EYE_CORNERS)
        faces.append(face_of_landmarks((first, second), _middle(points, MOUTH_CORNERS, width, height), landmarks))
    return sorted(faces, key=lambda face: (-face.side, face.x, face.y))


def _middle(points: Sequence[Any], indices: tuple[int, int], width: int, height: int) -> Point:
    a, b = (points[index] for index in indices)
    return (a.x + b.x) / 2 * width, (a.y + b.y) / 2 * height


def _landmarks(shapes: Sequence[Any], pose: NDArray[np.float32]) -> Landmarks:
    scores = {shape.category_name: float(shape.score) for shape in shapes}
    yaw_deg, pitch_deg = head_angles(pose)
    smile = (scores.get("mouthSmileLeft", math.nan) + scores.get("mouthSmileRight", math.nan)) / 2
    return Landmarks(smile, _look(scores), yaw_deg, pitch_deg)


def _look(scores: dict[str, float]) -> float:
    """Where the eyes point in the head: -1 (left in the picture) to 1 (right), the mean of both eyes.

    MediaPipe's left eye is the person's own, on the right in the picture, and "out" is away from the nose.
    """
    right = scores.get("eyeLookOutLeft", math.nan) + scores.get("eyeLookInRight", math.nan)
    left = scores.get("eyeLookInLeft", math.nan) + scores.get("eyeLookOutRight", math.nan)
    return (right - left) / 2


def head_angles(pose: NDArray[np.floating[Any]]) -> tuple[float, float]:
    """Yaw and pitch of the head in degrees, -90 to 90 for a face that can be seen, from ``pose`` [4, 4].

    ``pose`` takes the canonical face to the camera's space: x right in the picture, y up, z towards the camera; its
    rotation may be scaled. Positive yaw looks to the right in the picture, positive pitch down, as ``head_x`` and
    ``head_y`` grow. Roll changes neither. NaN where the matrix is no pose.
    """
    if pose.shape != (4, 4) or not np.isfinite(pose).all():
        return math.nan, math.nan
    right, up, forward = (float(part) for part in pose[:3, 2])
    length = math.hypot(right, up, forward)
    if length == 0.0:
        return math.nan, math.nan
    return math.degrees(math.atan2(right, forward)), math.degrees(math.asin(max(-1.0, min(1.0, -up / length))))


def _landmarker(model: Path | None) -> Any:
    if model is None:
        raise InputError(
            f'features.detector = "mediapipe" needs features.landmarker_model: the path of a .task file. {NEXT_STEP}'
        )
    try:
        with model.open("rb"):
            status = model.stat()
    except OSError as error:
        raise InputError(
            f"features.landmarker_model = {model}: {_cause(error)}. Correct the path in the configuration. {NEXT_STEP}"
        ) from None
    return _opened(model, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=1)
def _opened(model: Path, size: int, modified_ns: int) -> Any:
    """The landmarker of a process; a file that changes is another one."""
    try:
        from mediapipe.tasks.python import BaseOptions, vision
    except (ImportError, OSError) as error:
        raise InputError(
            f'features.detector = "mediapipe": the package mediapipe cannot be loaded ({_cause(error)}). '
            "Install the extra: pip install 'apportion[mediapipe]' (docs/guides/install.md says what else it brings), "
            'or take detector = "haar".'
        ) from None
    options = vision.FaceLandmarkerOptions(
        base_options=BaseOptions(model_asset_path=str(model)),
        running_mode=vision.RunningMode.IMAGE,
        num_faces=MOST_FACES,
        output_face_blendshapes=True,
        output_facial_transformation_matrixes=True,
    )
    try:
        return vision.FaceLandmarker.create_from_options(options)
    except (RuntimeError, ValueError, OSError, NotImplementedError) as error:
        raise InputError(
            f"features.landmarker_model = {model}: not a FaceLandmarker file with blend shapes that MediaPipe can read "
            f"({_cause(error)}). {NEXT_STEP}"
        ) from None


def _cause(error: Exception) -> str:
    """The first line of what a library says, short and without a path."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (text.strip().splitlines() or [type(error).__name__])[0][:120].rstrip(".")
