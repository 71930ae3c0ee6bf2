"""The 468 points of one face."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from apportion.features.face.face import Face, Point, face_of_landmarks
from apportion.features.face.mesh.crop import Crop, roll_of
from apportion.foundation.arrays import Floats

RIGHT_EYE, LEFT_EYE = (33, 133), (263, 362)
"""Outer and inner corner of the person's right eye (the picture's left) and of the other one."""
MOUTH_CORNERS = (61, 291)
CHIN, FOREHEAD = 152, 10
AROUND = 1.5
"""The network wants a square of this many times the face (MediaPipe's own)."""
SQUARE_TO_CROP, DOWN = 1.6, 0.068
"""Side of that crop, and how much lower its middle lies, in sides of the face's square; measured on drawn faces."""


@dataclass(frozen=True)
class FacePoints:
    """``points`` [468, 3] float64 in pixels of their picture: x right, y down, z away from the camera.

    ``certainty`` is the network's own: 0 to 1, whether a face is there.
    """

    points: Floats
    certainty: float

    def apart(self, first: int, second: int) -> float:
        """Distance of two points in space, pixels."""
        return math.dist(self.points[first].tolist(), self.points[second].tolist())

    @property
    def eye_distance(self) -> float:
        """Between the outer corners of the eyes, in space, pixels: the unit of all lengths."""
        return max(self.apart(RIGHT_EYE[0], LEFT_EYE[0]), 1e-6)

    def up(self) -> Floats:
        """Direction from chin to forehead [3], of length 1."""
        line = self.points[FOREHEAD] - self.points[CHIN]
        direction: Floats = line / max(float(np.linalg.norm(line)), 1e-6)
        return direction

    def crop(self) -> Crop:
        """The square that the network wants for this face in the next picture: upright by the eyes."""
        roll = roll_of(self._place(RIGHT_EYE[0]), self._place(LEFT_EYE[0]))
        turn = np.array([[np.cos(roll), np.sin(roll)], [-np.sin(roll), np.cos(roll)]])
        upright = self.points[:, :2] @ turn.T
        low, high = upright.min(axis=0), upright.max(axis=0)
        x, y = (low + high) / 2 @ turn
        return Crop(float(x), float(y), max(AROUND * float((high - low).max()), 1.0), roll)

    def face(self) -> Face:
        """The face's square, as every back-end gives it."""
        eyes = self._middle(*RIGHT_EYE), self._middle(*LEFT_EYE)
        return face_of_landmarks(eyes, self._middle(*MOUTH_CORNERS))

    def _place(self, index: int) -> Point:
        return float(self.points[index, 0]), float(self.points[index, 1])

    def _middle(self, first: int, second: int) -> Point:
        x, y = self.points[[first, second], :2].mean(axis=0)
        return float(x), float(y)


def crop_of_face(face: Face) -> Crop:
    """Where the network looks for the points of a followed face."""
    left, right = face.eye_middles()
    roll = roll_of(left, right)
    x, y = face.centre
    down = DOWN * face.side
    return Crop(x - down * float(np.sin(roll)), y + down * float(np.cos(roll)), SQUARE_TO_CROP * face.side, roll)
