"""What the mesh tells of one picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

from apportion.features.face.face import Face
from apportion.features.face.mesh.brow_raise import brow_height, inner_brow_height
from apportion.features.face.mesh.detector import MeshDetector
from apportion.features.face.mesh.eyes import NO_EYES, Eyes, look_at_eyes
from apportion.features.face.mesh.gaze import gaze_confidence, gaze_yaw
from apportion.features.face.mesh.head_pose import NO_POSE, HeadPose, head_pose
from apportion.features.face.mesh.landmarks import RIGHT_EYE
from apportion.features.face.mesh.mouth import mouth_opening
from apportion.features.face.mesh.smile import lid_opening, smile_score
from apportion.features.media_io.video import Picture

MOUTH_HIDDEN = 50.0
"""Degrees of yaw beyond which the far corner of the mouth cannot be seen."""
BROWS_YAW, BROWS_PITCH = 35.0, 20.0
"""Degrees of yaw and of pitch beyond which the height of the brows is foreshortened."""
LIDS_DOWN = 0.2
"""Opening of the lids in the mesh (height over width) below which the brows are not told: closing eyes move them."""


@dataclass(frozen=True)
class FaceFrameFeatures:
    """One look: ``smile`` 0 to 1, ``mouth`` opening in eye distances, ``pose`` and ``eyes``, ``gaze`` in degrees from
    the camera with its ``confidence``; heights of the ``brows`` and of their inner ends (``inner_brows``) in eye
    distances; NaN where it was not seen."""

    smile: float
    mouth: float
    pose: HeadPose
    eyes: Eyes
    gaze: float
    confidence: float
    brows: float = math.nan
    inner_brows: float = math.nan


NOT_SEEN = FaceFrameFeatures(math.nan, math.nan, NO_POSE, NO_EYES, math.nan, math.nan)


def read_face(
    detector: MeshDetector, picture: Picture, face: Face | None, with_eyes: bool, smile_level: float
) -> FaceFrameFeatures:
    """Everything that ``face`` tells in ``picture``, whose pixels it is in; the eyes only ``with_eyes``.

    ``smile_level`` (0 to 1): where a smile can reach it, the face is looked at as a whole, too.
    """
    points = None if face is None else detector.points_at(picture, face)
    if points is None:
        return NOT_SEEN
    luma, pair = picture.luma, detector.networks.pair
    pose = head_pose(points, luma.shape[1], luma.shape[0])
    eyes = look_at_eyes(detector.networks, luma, points) if with_eyes else NO_EYES
    hidden = not abs(pose.yaw) <= MOUTH_HIDDEN
    upright = abs(pose.yaw) <= BROWS_YAW and abs(pose.pitch) <= BROWS_PITCH and lid_opening(points) >= LIDS_DOWN
    return FaceFrameFeatures(
        smile=math.nan if hidden else smile_score(points, partial(pair.at_one_look, luma, points.points), smile_level),
        mouth=math.nan if hidden else mouth_opening(points),
        pose=pose,
        eyes=eyes,
        gaze=gaze_yaw(pose, eyes),
        confidence=gaze_confidence(points.certainty, pose, eyes, points.apart(*RIGHT_EYE)),
        brows=brow_height(points) if upright else math.nan,
        inner_brows=inner_brow_height(points) if upright else math.nan,
    )
