"""A face in a picture: its square, and where in it eyes and mouth lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from apportion.features.media_io.video import Picture
from apportion.features.time_series import Series, Span

Point = tuple[float, float]
Eyes = tuple[Point, Point]
"""Middles of both eyes in pixels, the picture's left one first."""
EYES = ((0.28, 0.37), (0.72, 0.37))
"""Where the eyes lie in a face's square, as fractions of its side; the picture's left one first."""
MOUTH_DOWN = 0.79
EYE_DISTANCE = EYES[1][0] - EYES[0][0]
EYES_TO_MOUTH = MOUTH_DOWN - EYES[0][1]


@dataclass(frozen=True)
class Landmarks:
    """What a back-end with landmarks tells beside the place: ``smile`` 0 to 1, ``look`` of the eyes (-1 left to
    1 right), ``yaw_deg`` and ``pitch_deg`` of the head."""

    smile: float
    look: float
    yaw_deg: float
    pitch_deg: float


@dataclass(frozen=True)
class Face:
    """A face's square: left, top and side in pixels of its picture, as OpenCV's frontal cascade would draw it.

    Every back-end gives this square, so that a nod's size in face heights and the regions of eyes and mouth mean the
    same with all of them. ``eyes`` are the middles of the eyes where the back-end saw them. ``head`` is a place of the
    head for its motion alone: smoother than the square, which says where eyes and mouth are. ``identity`` changes when
    the face was lost and found again: its heads before and after do not compare.
    """

    x: float
    y: float
    side: float
    eyes: Eyes | None = None
    identity: int = 0
    landmarks: Landmarks | None = None
    head: Point | None = None

    @property
    def centre(self) -> Point:
        """(x, y) of the middle, pixels."""
        return self.x + self.side / 2, self.y + self.side / 2

    def eye_middles(self) -> Eyes:
        """Middles of both eyes, pixels: as seen, else from the square."""
        if self.eyes is not None:
            return self.eyes
        left, right = ((self.x + across * self.side, self.y + down * self.side) for across, down in EYES)
        return left, right

    def moved(self, right: float, down: float) -> Face:
        """The same face ``right`` and ``down`` pixels further."""
        eyes = _changed(self.eyes, lambda point: (point[0] + right, point[1] + down))
        head = None if self.head is None else (self.head[0] + right, self.head[1] + down)
        return replace(self, x=self.x + right, y=self.y + down, eyes=eyes, head=head)

    def scaled(self, factor: float) -> Face:
        """The same face in a picture ``factor`` times as large."""
        eyes = _changed(self.eyes, lambda point: (point[0] * factor, point[1] * factor))
        head = None if self.head is None else (self.head[0] * factor, self.head[1] * factor)
        return replace(self, x=self.x * factor, y=self.y * factor, side=self.side * factor, eyes=eyes, head=head)

    def towards(self, other: Face, share: float, head_share: float) -> Face:
        """This face, moved and sized by ``share`` (0 to 1) of the way to ``other``, with that one's landmarks.

        Its head goes ``head_share`` of the way to the middle of ``other``.
        """
        eyes = other.eyes
        if self.eyes is not None and other.eyes is not None:
            (a, b), (c, d) = self.eyes, other.eyes
            eyes = _between(a, c, share), _between(b, d, share)
        x, y = _between((self.x, self.y), (other.x, other.y), share)
        head = _between(self.head or self.centre, other.centre, head_share)
        side = self.side + share * (other.side - self.side)
        return replace(self, x=x, y=y, side=side, eyes=eyes, landmarks=other.landmarks, head=head)

    def crop(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The face's pixels [height, width, ...]; empty where the square lies outside."""
        top, left = max(0, round(self.y)), max(0, round(self.x))
        return picture[top : max(top, round(self.y + self.side)), left : max(left, round(self.x + self.side))]

    def overlap(self, other: Face) -> float:
        """Intersection over union of the two squares, 0 to 1."""
        width = min(self.x + self.side, other.x + other.side) - max(self.x, other.x)
        height = min(self.y + self.side, other.y + other.side) - max(self.y, other.y)
        if width <= 0 or height <= 0:
            return 0.0
        return width * height / (self.side**2 + other.side**2 - width * height)


def face_of_landmarks(eyes: Eyes, mouth: Point, landmarks: Landmarks | None = None) -> Face:
    """The square of a face whose ``eyes`` (the picture's left one first) and middle of the ``mouth`` are known, pixels.

    The side is the larger of what the eyes' distance and the height from eyes to mouth tell: a turned head narrows the
    one, a bowed head the other.
    """
    left, right = np.asarray(eyes[0]), np.asarray(eyes[1])
    middle = (left + right) / 2
    across, down = float(np.hypot(*(right - left))), float(np.hypot(*(np.asarray(mouth) - middle)))
    side = max(across / EYE_DISTANCE, down / EYES_TO_MOUTH, 1.0)
    x = float(middle[0] + mouth[0]) / 2 - side / 2
    return Face(x, float(middle[1]) - EYES[0][1] * side, side, eyes, landmarks=landmarks)


def _changed(eyes: Eyes | None, change: Callable[[Point], Point]) -> Eyes | None:
    return None if eyes is None else (change(eyes[0]), change(eyes[1]))


def _between(a: Point, b: Point, share: float) -> Point:
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])


@dataclass(frozen=True)
class FaceVisibility:
    """A picture about which all is decided: the face in ``picture``, in its own pixels, or None."""

    picture: Picture
    face: Face | None


@dataclass(frozen=True)
class FaceSeries:
    """Decisions by feature (``series``), ``traces`` that are only stored, and ``blinks``, seconds, in order.

    ``series`` holds what the back-end tells; blinks count a minute of the time for which ``eyes_closed`` is known.
    """

    series: dict[str, Series]
    traces: dict[str, Series]
    blinks: tuple[Span, ...] = ()
