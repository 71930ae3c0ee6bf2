"""Smile score of a face by OpenCV's smile cascade."""

from __future__ import annotations

import numpy as np

from apportion.features.face.backends.cascade import cascade
from apportion.features.media_io.video import Grey

MOUTH_TOP, MOUTH_SIDE = 0.6, 0.1
"""The mouth region: below 60 % of the face's height, without 10 % at each side."""


def smile_score(face: Grey, scale: float) -> int:
    """Most overlapping hits of the smile cascade in the mouth region of ``face`` [W, W] uint8; 0 for none.

    The count depends on the region's size, so every face must come scaled to the same ``W``. With the cascade's
    defaults (1.1, 3) it fires on every picture of a sad face; ``smile_scale`` 1.7 and 20 hits at W = 160 px do not.
    Source: smile of LLM-GELI section 5.1 (cv2.CascadeClassifier).
    """
    import cv2

    size = face.shape[0]
    side = round(MOUTH_SIDE * size)
    mouth = np.ascontiguousarray(face[round(MOUTH_TOP * size) :, side : size - side])
    # A dark picture has few grey levels, and the cascade then sees nothing.
    mouth = np.asarray(cv2.normalize(mouth, np.empty_like(mouth), 0, 255, cv2.NORM_MINMAX), dtype=np.uint8)
    _, hits = cascade("smile").detectMultiScale2(mouth, scale, 1)
    return int(max(hits, default=0))
