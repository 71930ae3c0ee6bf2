"""An upright square cut out of a picture for a network."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apportion.features.face.face import Point
from apportion.features.media_io.video import Grey
from apportion.foundation.arrays import Floats


@dataclass(frozen=True)
class Crop:
    """A square: middle ``x``, ``y`` and ``side`` in pixels of the picture, turned clockwise by ``roll`` radians."""

    x: float
    y: float
    side: float
    roll: float = 0.0

    def matrix(self, size: int) -> NDArray[np.float64]:
        """The affine map [2, 3] from the picture into the crop, drawn ``size`` pixels wide."""
        scale = size / self.side
        cosine, sine = scale * math.cos(self.roll), scale * math.sin(self.roll)
        turn = np.array([[cosine, sine], [-sine, cosine]])
        shift = size / 2 - turn @ np.array([self.x, self.y])
        return np.column_stack([turn, shift])

    def cut(self, luma: Grey, size: int) -> Grey:
        """The crop of ``luma`` [height, width] uint8 as [size, size] uint8; black where it leaves the picture."""
        import cv2

        return np.asarray(cv2.warpAffine(luma, self.matrix(size), (size, size), flags=cv2.INTER_LINEAR), dtype=np.uint8)

    def back(self, points: Floats, size: int) -> Floats:
        """``points`` [N, 2] of the drawn crop in pixels of the picture."""
        matrix = self.matrix(size)
        placed: Floats = (points - matrix[:, 2]) @ np.linalg.inv(matrix[:, :2]).T
        return placed

    def moved_share(self, other: Crop) -> float:
        """How far ``other`` lies from this crop, or differs in size, in sides of this one; the larger of the two."""
        away = math.hypot(other.x - self.x, other.y - self.y) / self.side
        return max(away, abs(other.side / self.side - 1.0), abs(math.sin(other.roll - self.roll)))


def roll_of(left: Point, right: Point) -> float:
    """The turn of the line from ``left`` to ``right``, radians clockwise in the picture."""
    return math.atan2(right[1] - left[1], right[0] - left[0])
