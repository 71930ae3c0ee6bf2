"""How far the mouth is open."""

from __future__ import annotations

from apportion.features.face.mesh.landmarks import FacePoints

LIPS = (13, 14)
"""Middle of the upper and of the lower lip, inner edges."""


def mouth_opening(face: FacePoints) -> float:
    """Distance of the lips' inner edges, in eye distances (AU 25 and 26)."""
    return face.apart(*LIPS) / face.eye_distance
