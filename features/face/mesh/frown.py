"""Lowered brows: how far their inner ends have come down (AU4)."""

from __future__ import annotations

import numpy as np

from apportion.features.face.mesh.brow_raise import CALIBRATION_LOOKS, height_above_bridge
from apportion.features.face.mesh.landmarks import FacePoints
from apportion.foundation.arrays import Floats

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
