"""Smile by the corners of the mouth, and the cheeks that narrow the eyes."""

from __future__ import annotations

import math

import numpy as np

from apportion.features.face.mesh.landmarks import MOUTH_CORNERS, FacePoints
from apportion.features.face.mesh.mouth import LIPS
from apportion.foundation.arrays import Floats

LIDS = (((159, 145), (158, 153), (160, 144)), ((386, 374), (385, 380), (387, 373)))
EYES = ((33, 133), (263, 362))
WIDTH = (0.545, 0.73)
"""Width of a mouth that does not smile and of one that does, in eye distances."""
LIFT = (0.0, 0.058)
"""How far the corners then lie above the middle of the lips."""
NEAR = (0.36, 0.18)
"""How far the corners lie below the base of the nose in a mouth that bares its teeth, and in a broad smile."""
NOSE_BASE = 2
NARROW = (0.335, 0.25)
"""Height over width of the eyes' opening of a still face, and of one whose cheeks are raised."""
MOUTH_SHARE = 0.9


def smile_score(face: FacePoints) -> float:
    """0 (none) to 1 (a broad smile), about as much as the mouth has gone of the way between them.

    Ekman and Friesen's action units 12 (corners drawn aside and up, over the lips and towards the nose: the geometric
    mean of the three) and 6 (raised cheeks narrow the eyes; Ekman, Davidson and Friesen, 1990), which adds a tenth: a
    smile of the mouth alone still is one. A wide mouth that speaks is no smile by the lift, a narrow open one by its
    width, and a shout or teeth bared in anger, whose lower lip sinks and leaves the corners above it, by their distance
    to the nose. Lengths are in space and in distances of the eyes' outer corners, so that a turned head keeps its
    width. `WIDTH` and `LIFT` were measured on drawn faces (a still and a broad smile of two looks) and on
    `single_face.mp4`, `NEAR` was chosen on films of other people (docs/evidence/features.md).
    """
    across = face.apart(*MOUTH_CORNERS) / face.eye_distance
    corners = face.points[list(MOUTH_CORNERS)].mean(axis=0)
    lift = _above(face, corners, face.points[list(LIPS)].mean(axis=0))
    below_nose = -_above(face, corners, face.points[NOSE_BASE])
    mouth = math.cbrt(_share(across, WIDTH) * _share(lift, LIFT) * _share(below_nose, NEAR))
    return MOUTH_SHARE * mouth + (1 - MOUTH_SHARE) * mouth * _share(lid_opening(face), NARROW)


def lid_opening(face: FacePoints) -> float:
    """Height over width of the eyes in the mesh, mean of both (not enough for a blink, enough for cheeks)."""
    ratios = [
        float(np.mean([face.apart(*pair) for pair in lids])) / max(face.apart(*corners), 1e-6)
        for lids, corners in zip(LIDS, EYES, strict=True)
    ]
    return float(np.mean(ratios))


def _above(face: FacePoints, point: Floats, other: Floats) -> float:
    """How much higher in the face ``point`` [3] lies than ``other`` [3], eye distances."""
    return float((point - other) @ face.up()) / face.eye_distance


def _share(value: float, borders: tuple[float, float]) -> float:
    """How far ``value`` is on the way from the first border to the second, 0 to 1."""
    return max(0.0, min(1.0, (value - borders[0]) / (borders[1] - borders[0])))
