"""Gaze: whether a person looks at the screen, by the share of white on the two sides of the iris."""

from __future__ import annotations

import math

import numpy as np

from apportion.features.face.face import Face, Point
from apportion.features.media_io.video import Grey
from apportion.foundation.arrays import Floats

EYE_WIDTH, EYE_HEIGHT = 0.2, 0.08
"""The region of an eye around its middle, in sides of the face's square: the opening and a little skin."""
EYE_WIDTH_PX, EYE_HEIGHT_PX = 44, 20
"""Every eye is scaled to this size, so that a count of pixels means the same for near and far faces."""


def gaze_log_ratio(luma: Grey, face: Face) -> float:
    """log(white left of the iris / white right of it), mean of both eyes of ``face`` in ``luma`` [height, width] uint8.

    0 is straight ahead; NaN where the face is too small. Unit: natural logarithm of a ratio. Source: gaze of LLM-GELI
    section 5.1 ("white pixel value counts", whose code is not public): each eye is split by Otsu's threshold into white
    and dark pixels, which are counted left and right of its middle. Where the eyes are follows from the tracked face:
    eye cascades take four times the time of all else and miss every other glance to the side.
    """
    if EYE_HEIGHT * face.side < 3:
        return math.nan
    return float(np.mean([eye_log_ratio(_eye(luma, middle, face.side)) for middle in face.eye_middles()]))


def on_screen(values: Floats, limit: float) -> Floats:
    """1 where a person looks at the screen, 0 where away, NaN where unknown [F].

    On screen is within ``limit`` of the person's own median in the recording: light from one side and a camera beside
    the screen move the value of every picture alike, and most of the time people look at the screen.
    """
    known = np.isfinite(values)
    if not known.any():
        return np.full(len(values), np.nan)
    away = np.abs(values - np.median(values[known])) > limit
    return np.where(known, np.where(away, 0.0, 1.0), np.nan)


def _eye(luma: Grey, middle: Point, side: float) -> Grey:
    """The region of one eye [EYE_HEIGHT_PX, EYE_WIDTH_PX] uint8."""
    import cv2

    across, down = EYE_WIDTH_PX / (EYE_WIDTH * side), EYE_HEIGHT_PX / (EYE_HEIGHT * side)
    x, y = EYE_WIDTH_PX / 2 - across * middle[0], EYE_HEIGHT_PX / 2 - down * middle[1]
    place = np.array([[across, 0.0, x], [0.0, down, y]])
    cut = cv2.warpAffine(luma, place, (EYE_WIDTH_PX, EYE_HEIGHT_PX), flags=cv2.INTER_LINEAR)
    return np.asarray(cut, dtype=np.uint8)


def eye_log_ratio(eye: Grey) -> float:
    """log(white left of the middle / white right of it) in one eye's region ``eye`` [height, width] uint8."""
    import cv2

    _, white = cv2.threshold(cv2.GaussianBlur(eye, (3, 3), 0), 0, 1, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    middle = white.shape[1] // 2
    # One pixel more on each side keeps an all-dark side finite.
    return math.log((cv2.countNonZero(white[:, :middle]) + 1) / (cv2.countNonZero(white[:, -middle:]) + 1))
