"""Turn of the head: yaw, pitch and roll in degrees, by fitting the canonical face to the points (PnP)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from apportion.features.face.mesh.landmarks import FacePoints

CANONICAL: dict[int, tuple[float, float, float]] = {
    1: (0.000, 0.443, -0.448),
    4: (0.000, 0.372, -0.474),
    5: (0.000, 0.277, -0.450),
    6: (0.000, 0.049, -0.282),
    8: (0.000, -0.128, -0.242),
    9: (0.000, -0.220, -0.261),
    10: (0.000, -0.537, -0.213),
    21: (-0.705, -0.227, 0.275),
    33: (-0.500, 0.000, 0.000),
    54: (-0.646, -0.347, 0.138),
    67: (-0.387, -0.504, -0.126),
    103: (-0.548, -0.442, -0.003),
    127: (-0.747, 0.054, 0.540),
    129: (-0.226, 0.399, -0.154),
    133: (-0.190, 0.025, -0.059),
    151: (0.000, -0.377, -0.245),
    162: (-0.737, -0.101, 0.422),
    168: (0.000, -0.041, -0.237),
    195: (0.000, 0.199, -0.391),
    197: (0.000, 0.128, -0.335),
    234: (-0.737, 0.200, 0.596),
    251: (0.705, -0.227, 0.275),
    263: (0.500, 0.000, 0.000),
    284: (0.646, -0.347, 0.138),
    297: (0.387, -0.504, -0.126),
    332: (0.548, -0.442, -0.003),
    356: (0.747, 0.054, 0.540),
    358: (0.226, 0.399, -0.154),
    362: (0.190, 0.025, -0.059),
    389: (0.737, -0.101, 0.422),
    454: (0.737, 0.200, 0.596),
}
"""Place of some of the mesh's points, in distances of the eyes' outer corners: x right in the picture, y down, z away
from the camera, from the middle between the eyes; corners of the eyes, nose, forehead and temples, which speech does
not move.

It is the network's own answer to the drawn faces of the tests (both looks, still), averaged over them and their mirror
images by Procrustes' fit and turned so that they, who look at the viewer, are at 0 degrees.
"""


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
