"""How far the mouth is open, and whether it speaks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from features.face.mesh.points import FacePoints
from foundation.arrays import Floats

LIPS = (13, 14)
"""Middle of the upper and of the lower lip, inner edges."""
AROUND_S = 1.5
"""Seconds over which a mouth opens and closes that speaks: some syllables."""
QUIET, GAIN, MOST = 0.06, 4.0, 0.2
"""Spread of the opening, in eye distances, up to which a mouth is quiet; what each unit beyond asks of a smile, and the
most that is asked. Smiles of eight films have a spread of 0.002 to 0.08 (an open mouth 0.18, with a score of 0.87);
speech with bared teeth, which scores 0.58 to 0.63, has 0.09 to 0.10."""


def mouth_opening(face: FacePoints) -> float:
    """Distance of the lips' inner edges, in eye distances (AU 25 and 26)."""
    return face.apart(*LIPS) / face.eye_distance


def asked_of_a_smile(times_s: Sequence[float], openings: Floats) -> Floats:
    """How much broader a smile must be to count, where the mouth opens and closes as in speech [F], 0 to `MOST`.

    Speech bares teeth and draws the corners of the mouth aside. ``openings`` [F] are eye distances at ``times_s``, NaN
    where the mouth was not seen.
    """
    times = np.asarray(times_s, dtype=np.float64)
    known = np.isfinite(openings)
    asked = np.zeros(len(times))
    for index in np.flatnonzero(known):
        near = known & (np.abs(times - times[index]) <= AROUND_S / 2 + 1e-6)
        asked[index] = GAIN * max(0.0, float(np.std(openings[near])) - QUIET)
    return np.minimum(asked, MOST)
