"""How a player lays a decoded picture out: turned, mirrored, with square pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apportion.foundation.arrays import Floats

SQUARE = 0.01
"""Pixels whose width and height differ by less than this share are square."""
WIDEST = 4.0
"""A wider pixel is a broken header: no camera or disc has one."""


@dataclass(frozen=True)
class Orientation:
    """First pixels become square (``aspect`` is their width by their height), then the picture is mirrored left to
    right, then it is turned ``quarter_turns`` times counter-clockwise."""

    quarter_turns: int = 0
    mirrored: bool = False
    aspect: float = 1.0

    @property
    def is_plain(self) -> bool:
        """Whether the picture is shown as it was decoded."""
        return self == PLAIN

    def shown(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """``picture`` [height, width, ...] as a player shows it."""
        if self.is_plain:
            return picture
        if self.aspect != 1.0:
            picture = _squared(picture, self.aspect)
        if self.mirrored:
            picture = picture[:, ::-1]
        return np.ascontiguousarray(np.rot90(picture, self.quarter_turns))


PLAIN = Orientation()


def orientation(frame: Any, aspect: float = 1.0) -> Orientation:
    """What the display matrix of PyAV's ``frame`` says; ``aspect`` is its stream's (`pixel_aspect`)."""
    matrix = _display_matrix(frame)
    if matrix is None:
        return Orientation(aspect=aspect)
    # A picture's point is a row (x right, y down) and is multiplied from the left. What mirrors has a determinant below
    # 0 and is a mirror left to right, followed by a turn.
    mirrored = bool(np.linalg.det(matrix) < 0)
    turned = np.diag([-1.0, 1.0]) @ matrix if mirrored else matrix
    clockwise = math.degrees(math.atan2(turned[0, 1] - turned[1, 0], turned[0, 0] + turned[1, 1]))
    return Orientation(round(-clockwise / 90) % 4, mirrored, aspect)


def _display_matrix(frame: Any) -> Floats | None:
    """The 2 by 2 part of the frame's display matrix, None where there is none or it says nothing."""
    from av.sidedata.sidedata import Type

    data = frame.side_data.get(Type.DISPLAYMATRIX)
    if data is None:
        return None
    numbers = np.frombuffer(data, np.int32).astype(np.float64)
    matrix = numbers[:9].reshape(3, 3)[:2, :2] / 2**16
    return matrix if abs(np.linalg.det(matrix)) > 0 else None


def pixel_aspect(stream: Any) -> float:
    """Width by height of the pixels of PyAV's video ``stream``; 1 for square ones and where nothing likely is said."""
    told = stream.sample_aspect_ratio or stream.codec_context.sample_aspect_ratio
    aspect = float(told) if told else 1.0
    return aspect if abs(aspect - 1.0) >= SQUARE and 1 / WIDEST <= aspect <= WIDEST else 1.0


def _squared(picture: NDArray[np.uint8], aspect: float) -> NDArray[np.uint8]:
    """The picture made wider or higher, so that nothing of it is lost."""
    import cv2

    height, width = picture.shape[:2]
    size = (round(width * aspect), height) if aspect > 1 else (width, round(height / aspect))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_LINEAR), dtype=np.uint8)
