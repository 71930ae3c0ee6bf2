"""Raised brows: how high they stand above the bridge of the nose (AU1 and AU2)."""

from __future__ import annotations

import numpy as np

from apportion.features.face.mesh.landmarks import FacePoints
from apportion.foundation.arrays import Floats

BRIDGE = (168, 6)
"""Middle between the eyes, and below it on the nose: neither lids nor brows move them."""
BROWS = (52, 65, 105, 66, 282, 295, 334, 296)
RAISED = 0.02
"""How far above one's own median brows are raised, in eye distances."""
RAISED_ON_ANYBODY = 0.29
"""From this height on they are, whatever the median."""
CALIBRATION_LOOKS = 25
"""Looks from which on a person's own median is believed (5 s at five a second)."""


def brow_height(face: FacePoints) -> float:
    """Mean height of both brows above the bridge of the nose, in distances of the eyes' outer corners.

    Ekman and Friesen's action units 1 and 2 (Facial Action Coding System, 1978). People's brows at rest lie 0.18 to
    0.28 above it, a raise is 0.02 to 0.05: only the person's own median tells one from the other (Baltrusaitis,
    Mahmoud and Robinson, 2015, do the same for action units).
    """
    return height_above_bridge(face, BROWS)


def height_above_bridge(face: FacePoints, indices: tuple[int, ...]) -> float:
    """How far the mean of some points lies above the bridge of the nose along the face, in eye distances."""
    line = face.points[list(indices)].mean(axis=0) - face.points[list(BRIDGE)].mean(axis=0)
    return float(line @ face.up()) / face.eye_distance


def raised(heights: Floats) -> Floats:
    """1 where brows are raised, 0 where not, NaN where not seen [F], of their ``heights`` [F] in eye distances.

    With fewer than `CALIBRATION_LOOKS` only brows that would be raised on anybody are told, and no absence.
    """
    known = np.isfinite(heights)
    high = heights >= RAISED_ON_ANYBODY
    if known.sum() < CALIBRATION_LOOKS:
        return np.where(known & high, 1.0, np.nan)
    return np.where(known, (high | (heights >= np.median(heights[known]) + RAISED)).astype(float), np.nan)


INNER_ENDS = (107, 55, 336, 285)
LOWERED = 0.03
"""How far below one's own median the inner ends of the brows are lowered, in eye distances."""
LOW = 0.185
"""And how low they must be: the median of forty people is 0.196, and brows that are mostly raised come down to rest."""


def inner_brow_height(face: FacePoints) -> float:
    """Mean height of the brows' inner ends above the bridge of the nose, in distances of the eyes' outer corners.

    Ekman and Friesen's action unit 4, the brow lowerer (Facial Action Coding System, 1978). That the brows also draw
    together cannot be told from the mesh: their distance changed by as much in speech as in frowns.
    """
    return height_above_bridge(face, INNER_ENDS)


def lowered(heights: Floats) -> Floats:
    """1 where brows are lowered, 0 where not, NaN where unknown [F], of ``heights`` [F] in eye distances.

    Against the person's own median, since low brows are a way to look: a frown that never ends is not told. With fewer
    than `CALIBRATION_LOOKS` nothing is.
    """
    known = np.isfinite(heights)
    if known.sum() < CALIBRATION_LOOKS:
        return np.full(len(heights), np.nan)
    return np.where(known, (heights <= min(LOW, np.median(heights[known]) - LOWERED)).astype(float), np.nan)
