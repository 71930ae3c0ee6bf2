"""Smile by the corners of the mouth, and the cheeks that narrow the eyes."""

from __future__ import annotations

import math

import numpy as np

from features.face.mesh.mouth import LIPS
from features.face.mesh.points import MOUTH_CORNERS, FacePoints

LIDS = (((159, 145), (158, 153), (160, 144)), ((386, 374), (385, 380), (387, 373)))
EYES = ((33, 133), (263, 362))
WIDTH = (0.545, 0.73)
"""Width of a mouth that does not smile and of one that does, in eye distances."""
LIFT = (0.0, 0.058)
"""How far the corners then lie above the middle of the lips."""
NARROW = (0.335, 0.25)
"""Height over width of the eyes' opening of a still face, and of one whose cheeks are raised."""
MOUTH_SHARE = 0.9


def smile_score(face: FacePoints) -> float:
    """0 (none) to 1 (a broad smile), about as much as the mouth has gone of the way between them.

    Ekman and Friesen's action units 12 (corners drawn aside and up: the geometric mean of both, so that neither a wide
    mouth that speaks nor an open one is a smile) and 6 (raised cheeks narrow the eyes; Ekman, Davidson and Friesen,
    1990), which adds a tenth: a smile of the mouth alone still is one. Lengths are in space and in distances of the
    eyes' outer corners, so that a turned head keeps its width. All borders were measured on drawn faces (a still and a
    broad smile of two looks) and on `single_face.mp4`.
    """
    across = face.apart(*MOUTH_CORNERS) / face.eye_distance
    middle = face.points[list(LIPS)].mean(axis=0)
    lift = float((face.points[list(MOUTH_CORNERS)].mean(axis=0) - middle) @ face.up()) / face.eye_distance
    mouth = math.sqrt(_share(across, WIDTH) * _share(lift, LIFT))
    return MOUTH_SHARE * mouth + (1 - MOUTH_SHARE) * mouth * _share(lid_opening(face), NARROW)


def lid_opening(face: FacePoints) -> float:
    """Height over width of the eyes in the mesh, mean of both (not enough for a blink, enough for cheeks)."""
    ratios = [
        float(np.mean([face.apart(*pair) for pair in lids])) / max(face.apart(*corners), 1e-6)
        for lids, corners in zip(LIDS, EYES, strict=True)
    ]
    return float(np.mean(ratios))


def _share(value: float, borders: tuple[float, float]) -> float:
    """How far ``value`` is on the way from the first border to the second, 0 to 1."""
    return max(0.0, min(1.0, (value - borders[0]) / (borders[1] - borders[0])))
