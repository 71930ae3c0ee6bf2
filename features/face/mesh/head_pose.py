"""Turn of the head: yaw, pitch and roll in degrees, by fitting the canonical face to the points (PnP)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from apportion.features.face.mesh.canonical import CANONICAL
from apportion.features.face.mesh.landmarks import FacePoints

_INDICES = list(CANONICAL)
_PLACES = np.array(list(CANONICAL.values()), dtype=np.float64)
FOCAL = 1.0
"""Focal length in widths of the picture: a field of view of 53 degrees, as of a webcam."""


@dataclass(frozen=True)
class HeadPose:
    """Degrees against the line from the face to the camera, so that a face at the picture's edge that looks at the
    camera is at 0: ``yaw`` to the picture's right, ``pitch`` down, ``roll`` clockwise."""

    yaw: float
    pitch: float
    roll: float


NO_POSE = HeadPose(math.nan, math.nan, math.nan)


def head_pose(face: FacePoints, width: int, height: int) -> HeadPose:
    """Pose of ``face`` in a picture of ``width`` x ``height`` pixels; NaN where it cannot be fitted.

    The points of `CANONICAL`, which neither the mouth nor the brows move, are fitted by perspective-n-point (SQPnP,
    Terzakis and Lourakis, 2020; OpenCV's solvePnP), as is usual for head pose (Murphy-Chutorian and Trivedi, 2009).
    """
    import cv2

    focal = FOCAL * max(width, height)
    camera = np.array([[focal, 0.0, width / 2], [0.0, focal, height / 2], [0.0, 0.0, 1.0]])
    seen = np.ascontiguousarray(face.points[_INDICES, :2])
    try:
        fitted, turn, shift = cv2.solvePnP(_PLACES, seen, camera, np.zeros(4), flags=cv2.SOLVEPNP_SQPNP)
    except cv2.error:
        fitted = False
    if not fitted or not (np.isfinite(turn).all() and np.isfinite(shift).all()) or float(shift[2, 0]) <= 0:
        return NO_POSE
    rotation = cv2.Rodrigues(turn)[0]
    return _against_camera(rotation, shift.reshape(3))


def _against_camera(rotation: np.ndarray, place: np.ndarray) -> HeadPose:
    """Angles of ``rotation`` [3, 3] of a face at ``place`` [3] (camera's space: x right, y down, z away from it)."""
    forward, to_camera = -rotation[:, 2], -place / np.linalg.norm(place)
    yaw, pitch = (_angles(forward)[axis] - _angles(to_camera)[axis] for axis in (0, 1))
    roll = math.atan2(float(rotation[1, 0]), float(rotation[0, 0]))
    return HeadPose(*(math.degrees(math.remainder(angle, 2 * math.pi)) for angle in (yaw, pitch, roll)))


def _angles(direction: np.ndarray) -> tuple[float, float]:
    """To the right and down of a ``direction`` [3] of length 1, seen from the camera, radians."""
    right, down, away = (float(part) for part in direction)
    return math.atan2(right, -away), math.asin(max(-1.0, min(1.0, down)))
