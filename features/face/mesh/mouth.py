"""How far the mouth is open."""

from __future__ import annotations

import numpy as np

from apportion.features.face.mesh.landmarks import FacePoints
from apportion.foundation.arrays import Floats

LIPS = (13, 14)
"""Middle of the upper and of the lower lip, inner edges."""


def mouth_opening(face: FacePoints) -> float:
    """Distance of the lips' inner edges, in eye distances (AU 25 and 26)."""
    return face.apart(*LIPS) / face.eye_distance


OPEN = 0.2
"""Distance of the lips' inner edges, in eye distances, from which on a mouth is open: a smile with bared teeth is 0.15
to 0.18 (AU25 alone), lips that touch 0.01 to 0.05."""


def is_open(openings: Floats) -> Floats:
    """1 where the mouth is open, 0 where not, NaN where not seen [F], of ``openings`` [F] (`mouth.mouth_opening`).

    Ekman and Friesen's action units 25 and 26 (Facial Action Coding System, 1978). It does not tell speech from
    astonishment.
    """
    return np.where(np.isfinite(openings), (openings >= OPEN).astype(float), np.nan)
