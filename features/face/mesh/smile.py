"""Smile by the corners of the mouth, the cheeks that narrow the eyes, and the face as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean

from apportion.features.face.mesh.landmarks import MOUTH_CORNERS, FacePoints
from apportion.features.face.mesh.mouth import LIPS, mouth_opening
from apportion.foundation.arrays import Floats

LIDS = (((159, 145), (158, 153), (160, 144)), ((386, 374), (385, 380), (387, 373)))
EYES = ((33, 133), (263, 362))
NOSE_BASE = 2
AT, WIDTH, LIFT, BELOW_NOSE, LID_OPENING, MOUTH_OPENING = -5.458, 18.31, 20.47, -21.08, -4.97, -1.5
"""Log odds of a smile: a constant, and what each length (eye distances; of the lids, height over width) adds to it."""
HAPPY = 0.156
"""The same for the log odds of a happy face, which count up to `MOST_HAPPY` either way."""
MOST_HAPPY = 12.0
WholeFace = Callable[[], tuple[float, float]]
"""Log odds that a face looks happy, and the share of faces like it that look happy or neutral."""


def smile_score(face: FacePoints, whole: WholeFace, level: float) -> float:
    """Probability of a smile, 0 to 1: by the points and the ``whole`` face, which is asked only where it matters.

    A logistic regression of 244 moments in other films (Ekman and Friesen's action units 12 and 6, and how happy the
    face looks): with a threshold from other films .901 of the smiles were found at precision .985. It is taken times
    the share of happy and neutral faces: tears and anger draw the mouth wide, too. Below ``level``, whatever the whole
    face says, that is not asked, and counts as unhappy.
    """
    mouth = mouth_log_odds(face)
    if _probability(mouth + HAPPY * MOST_HAPPY) < level:
        return _probability(mouth - HAPPY * MOST_HAPPY)
    happy, calm = whole()
    return calm * _probability(mouth + HAPPY * max(-MOST_HAPPY, min(MOST_HAPPY, happy)))


def mouth_log_odds(face: FacePoints) -> float:
    """Log odds of a smile by the points: a wide mouth whose corners lie above the lips' middle and near the nose.

    A wide mouth that speaks is none by the lift, a narrow open one by its width, a shout, whose lower lip sinks and
    leaves the corners above it, by their distance to the nose. Lengths are in space, so that a turned head keeps its
    width.
    """
    corners = face.points[list(MOUTH_CORNERS)].mean(axis=0)
    return (
        AT
        + WIDTH * face.apart(*MOUTH_CORNERS) / face.eye_distance
        + LIFT * _above(face, corners, face.points[list(LIPS)].mean(axis=0))
        + BELOW_NOSE * -_above(face, corners, face.points[NOSE_BASE])
        + LID_OPENING * lid_opening(face)
        + MOUTH_OPENING * mouth_opening(face)
    )


def lid_opening(face: FacePoints) -> float:
    """Height over width of the eyes in the mesh, mean of both (not enough for a blink, enough for cheeks)."""
    ratios = [
        fmean(face.apart(*pair) for pair in lids) / max(face.apart(*corners), 1e-6)
        for lids, corners in zip(LIDS, EYES, strict=True)
    ]
    return fmean(ratios)


def _above(face: FacePoints, point: Floats, other: Floats) -> float:
    """How much higher in the face ``point`` [3] lies than ``other`` [3], eye distances."""
    return float((point - other) @ face.up()) / face.eye_distance


def _probability(log_odds: float) -> float:
    """Of ``log_odds``; numbers beyond 700 are none that a face has."""
    return 1.0 / (1.0 + math.exp(-max(-700.0, min(700.0, log_odds))))
