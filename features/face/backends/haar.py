"""Faces by OpenCV's Haar cascade, which comes with the package."""

from __future__ import annotations

import numpy as np

from apportion.features.face.backends.cascade import cascade
from apportion.features.face.face import Face
from apportion.features.media_io.video import Grey, Picture
from apportion.features.settings import FeatureSettings

MARGIN = 0.5
"""Around a followed face the cascade looks this many face widths further to every side."""
SIZE_CHANGE = 1.5
"""Between two runs of the detector a face grows or shrinks by less than this factor."""
SMALLEST_PX = 24
"""The cascade's own window."""


class HaarDetector:
    """Viola and Jones (2001) on the grey picture: needs no file, sees frontal faces, boxes jump by a few per cent."""

    steady = False

    def __init__(self, settings: FeatureSettings) -> None:
        self._settings = settings
        cascade("frontalface_default")  # Loaded now, so that a missing one is told before any work.

    def find(self, picture: Picture, small: Grey, near: Face | None) -> list[Face]:
        """See ``FaceDetector.find``; near a known face it takes a fifth of the time of a search everywhere."""
        smallest, largest, left, top = (
            max(SMALLEST_PX, round(self._settings.face_min_fraction * small.shape[1])),
            0,
            0,
            0,
        )
        if near is not None:
            left, top = max(0, round(near.x - MARGIN * near.side)), max(0, round(near.y - MARGIN * near.side))
            right, bottom = (round(start + (1 + MARGIN) * near.side) for start in (near.x, near.y))
            small = small[top : max(top, bottom), left : max(left, right)]
            smallest, largest = max(smallest, round(near.side / SIZE_CHANGE)), round(near.side * SIZE_CHANGE)
        if min(small.shape) < smallest:
            return []
        boxes = cascade("frontalface_default").detectMultiScale(
            np.ascontiguousarray(small),
            self._settings.face_scale,
            self._settings.face_neighbours,
            minSize=(smallest, smallest),
            maxSize=(largest, largest),
        )
        faces = [Face(float(left + x), float(top + y), float(width)) for x, y, width, _ in boxes]
        return sorted(faces, key=lambda face: (-face.side, face.x, face.y))
