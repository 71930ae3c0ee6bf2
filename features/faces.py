"""Finding one person's face and following it smoothly from picture to picture."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from features.cascade import cascade
from features.settings import FeatureSettings
from features.video import Grey

MOST_POINTS = 60
FEWEST_POINTS = 6
FLOW_WINDOW_PX = 15
FLOW_LEVELS = 3
CORRECTION = 0.1
"""Share of the detector's opinion that moves the followed face: enough against drift, too little for its jitter
to look like shaking (Haar's boxes jump by several per cent of the face from picture to picture)."""
SAME_FACE_OVERLAP = 0.3
MARGIN = 0.5
"""Around a followed face the detector looks this many face widths further to every side."""
SIZE_CHANGE = 1.5
"""Between two runs of the detector a face grows or shrinks by less than this factor."""


@dataclass(frozen=True)
class Face:
    """A face's box: left, top, width and height in pixels of the picture it was found in.

    ``identity`` changes when the face was lost and found again: its positions before and after do not compare.
    """

    x: float
    y: float
    width: float
    height: float
    identity: int = 0

    @property
    def centre(self) -> tuple[float, float]:
        """(x, y) of the middle, pixels."""
        return self.x + self.width / 2, self.y + self.height / 2

    def scaled(self, factor: float) -> Face:
        """The same face in a picture ``factor`` times as large."""
        return replace(
            self, x=self.x * factor, y=self.y * factor, width=self.width * factor, height=self.height * factor
        )

    def towards(self, other: Face, share: float) -> Face:
        """This face, moved and sized by ``share`` (0 to 1) of the way to ``other``."""
        return replace(
            self,
            x=self.x + share * (other.x - self.x),
            y=self.y + share * (other.y - self.y),
            width=self.width + share * (other.width - self.width),
            height=self.height + share * (other.height - self.height),
        )

    def crop(self, grey: Grey) -> Grey:
        """The face's pixels [height, width] uint8; empty where the box lies outside."""
        top, left = max(0, round(self.y)), max(0, round(self.x))
        return grey[top : max(top, round(self.y + self.height)), left : max(left, round(self.x + self.width))]


class FaceFollower:
    """Follows one face: a Haar detection every few pictures, Lucas-Kanade optical flow in between.

    With several faces it starts with the largest and stays with it: the detection that overlaps the followed face
    wins, however large others are. Position comes from the flow, so that head motion is smooth.
    """

    def __init__(self, settings: FeatureSettings) -> None:
        self._settings = settings
        self._face: Face | None = None
        self._points: NDArray[np.float32] = np.zeros((0, 1, 2), dtype=np.float32)
        self._before: Grey | None = None
        self._pictures = 0
        self._missed = 0
        self._identities = 0

    def follow(self, grey: Grey) -> Face | None:
        """The face in the next picture ``grey`` [height, width] uint8, None where it is not seen."""
        if self._face is not None and self._before is not None:
            self._face = self._flow(self._before, grey, self._face)
        if self._pictures % self._settings.detector_every == 0:
            self._face = self._confirm(grey, self._face)
            if self._face is not None:
                self._points = _corners(grey, self._face)
        self._pictures += 1
        self._before = grey
        return self._face

    def _flow(self, before: Grey, now: Grey, face: Face) -> Face | None:
        """Move the face by the median motion of its points; None when too few can be followed."""
        import cv2

        if len(self._points) < FEWEST_POINTS:
            return None
        size = (FLOW_WINDOW_PX, FLOW_WINDOW_PX)
        landed, found, _ = cv2.calcOpticalFlowPyrLK(
            before, now, self._points, np.empty_like(self._points), winSize=size, maxLevel=FLOW_LEVELS
        )
        moved = np.asarray(landed, dtype=np.float32)
        kept = np.asarray(found)[:, 0] == 1
        if kept.sum() < max(FEWEST_POINTS, len(self._points) // 2):
            return None
        dx, dy = np.median((moved - self._points)[kept, 0], axis=0)
        self._points = moved[kept]
        return replace(face, x=face.x + float(dx), y=face.y + float(dy))

    def _confirm(self, grey: Grey, face: Face | None) -> Face | None:
        """Check the followed face against the detector, or begin with the largest face."""
        boxes = self._detect(grey, face)
        if face is None:
            self._missed = 0
            if not boxes:
                return None
            self._identities += 1
            return replace(max(boxes, key=lambda box: (box.width, -box.x, -box.y)), identity=self._identities)
        best = max(boxes, key=lambda box: _overlap(face, box), default=None)
        if best is None or _overlap(face, best) < SAME_FACE_OVERLAP:
            self._missed += 1
            return None if self._missed >= self._settings.face_patience else face
        self._missed = 0
        return face.towards(best, CORRECTION)

    def _detect(self, grey: Grey, near: Face | None) -> list[Face]:
        """Faces in the picture, or only those about as large as ``near`` and around it (a fifth of the time)."""
        smallest, largest, left, top = max(24, round(self._settings.face_min_fraction * grey.shape[1])), 0, 0, 0
        if near is not None:
            left, top = max(0, round(near.x - MARGIN * near.width)), max(0, round(near.y - MARGIN * near.height))
            grey = grey[
                top : round(near.y + (1 + MARGIN) * near.height), left : round(near.x + (1 + MARGIN) * near.width)
            ]
            smallest, largest = max(smallest, round(near.width / SIZE_CHANGE)), round(near.width * SIZE_CHANGE)
        boxes = cascade("frontalface_default").detectMultiScale(
            np.ascontiguousarray(grey),
            self._settings.face_scale,
            self._settings.face_neighbours,
            minSize=(smallest, smallest),
            maxSize=(largest, largest),
        )
        return [Face(float(left + x), float(top + y), float(width), float(height)) for x, y, width, height in boxes]


def _corners(grey: Grey, face: Face) -> NDArray[np.float32]:
    """Well-textured points [N, 1, 2] float32 in the middle of the face, where no background shows."""
    import cv2

    mask = np.zeros_like(grey)
    middle = Face(face.x + 0.15 * face.width, face.y + 0.15 * face.height, 0.7 * face.width, 0.7 * face.height)
    middle.crop(mask)[:] = 255
    points = cv2.goodFeaturesToTrack(grey, MOST_POINTS, 0.01, 3, mask=mask)
    # OpenCV answers None, against its own type, where there is no texture.
    found = np.asarray([] if points is None else points, dtype=np.float32)
    return found.reshape(-1, 1, 2)


def _overlap(a: Face, b: Face) -> float:
    """Intersection over union of two boxes, 0 to 1."""
    width = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    height = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / (a.width * a.height + b.width * b.height - width * height)
