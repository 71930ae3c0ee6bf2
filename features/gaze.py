"""Gaze by the share of white on the two sides of the iris."""

from __future__ import annotations

import math

import numpy as np

from features.cascade import cascade
from features.series import Floats
from features.video import Grey

EYES_TOP, EYES_BOTTOM = 0.18, 0.58
EYES_LEFT = ((0.08, 0.5), (0.5, 0.92))
"""Where in a face the eyes are looked for, as fractions of its height and width."""
LID_TOP, LID_BOTTOM, LID_SIDE = 0.38, 0.72, 0.1
"""Where in an eye's box the open eye is, below the brow."""
EYE_SCALE, EYE_NEIGHBOURS = 1.1, 4
SMALLEST_EYE, LARGEST_EYE = 0.15, 0.38
"""Size of an eye's box in face widths."""


def gaze_log_ratio(face: Grey) -> float:
    """log(white left of the middle / white right of it), mean of the eyes found in ``face`` [W, W] uint8.

    0 is straight ahead; NaN where no open eye is found. Source: gaze of LLM-GELI section 5.1 ("white pixel value
    counts", whose code is not public): each eye is split by Otsu's threshold into white and dark pixels.
    """
    ratios = [eye_log_ratio(eye) for eye in _eyes(face)]
    return float(np.mean(ratios)) if ratios else math.nan


def on_screen(log_ratios: Floats, limit: float) -> Floats:
    """1 where a person looks at the screen, 0 where away, NaN where unknown [F].

    On screen is within a factor ``limit`` of the person's own median ratio in the recording: light from one side and
    a camera beside the screen move the ratio of every picture alike, and most of the time people look at the screen.
    """
    known = np.isfinite(log_ratios)
    if not known.any():
        return np.full(len(log_ratios), np.nan)
    away = np.abs(log_ratios - np.median(log_ratios[known])) > math.log(limit)
    return np.where(known, np.where(away, 0.0, 1.0), np.nan)


def _eyes(face: Grey) -> list[Grey]:
    size = face.shape[0]
    top, bottom = round(EYES_TOP * size), round(EYES_BOTTOM * size)
    smallest, largest = round(SMALLEST_EYE * size), round(LARGEST_EYE * size)
    eyes = []
    for left, right in EYES_LEFT:
        region = np.ascontiguousarray(face[top:bottom, round(left * size) : round(right * size)])
        boxes, hits = cascade("eye").detectMultiScale2(
            region, EYE_SCALE, EYE_NEIGHBOURS, minSize=(smallest, smallest), maxSize=(largest, largest)
        )
        if len(boxes):
            x, y, width, height = boxes[int(np.argmax(hits))]
            eyes.append(region[y : y + height, x : x + width])
    return eyes


def eye_log_ratio(eye: Grey) -> float:
    """log(white left of the middle / white right of it) in one eye's box ``eye`` [height, width] uint8."""
    import cv2

    height, width = eye.shape
    lid = eye[round(LID_TOP * height) : round(LID_BOTTOM * height), round(LID_SIDE * width) : -round(LID_SIDE * width)]
    _, white = cv2.threshold(cv2.GaussianBlur(lid, (3, 3), 0), 0, 1, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    middle = white.shape[1] // 2
    # One pixel more on each side keeps an all-dark side finite.
    return math.log((int(white[:, :middle].sum()) + 1) / (int(white[:, -middle:].sum()) + 1))
