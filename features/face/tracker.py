"""Following one person's face smoothly from picture to picture, and knowing from when to when it is seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from apportion.features.face.detector import FaceDetector
from apportion.features.face.face import Face, FaceVisibility
from apportion.features.media_io.video import Grey, Picture
from apportion.features.settings import FeatureSettings

Item = TypeVar("Item")
MOST_POINTS = 40
FEWEST_POINTS = 6
FLOW_WINDOW_PX = 15
FLOW_LEVELS = 3
LARGEST_FLOW_ERROR = 22.0
"""Mean grey difference of the followed patches (median) above which they show something else: a cut, a hand."""
HURRIED_FLOW_ERROR = 44.0
"""Up to this a head that moves fast looks so, too: it is followed on where the detector sees a face there."""
SQUARE_S, HEAD_S = 3.0, 5.0
"""Seconds in which the detector's opinion moves the square of the followed face, and its head: soon enough against
drift; for the head too slowly for jitter to look like shaking (Haar's boxes jump by several per cent of the face)."""
SAME_FACE_OVERLAP = 0.3
HOME_DISTANCE, HOME_SIZE = 1.5, 1.7
"""A lost face comes back within so many sides of its place, larger or smaller by less than this factor."""
CUT_DIFFERENCE = 25.0
"""Mean grey difference of two pictures in a row that is a cut: worth asking the detector at once."""
EARLY = 1e-3
"""Seconds by which a picture may be early for the detector's clock."""
PATIENT = 1.5
"""A followed face waits for a free answer of the detector so many of its intervals, and no longer."""


@dataclass(frozen=True)
class Step:
    """A picture on its way, and its smaller grey copy in which faces are found and followed."""

    picture: Picture
    small: Grey
    enlarge: float

    def seen(self, face: Face | None) -> FaceVisibility:
        """The decision, in the pixels of the picture itself."""
        return FaceVisibility(self.picture, None if face is None else face.scaled(self.enlarge))


class FaceTracker:
    """Follows one face: a detection every ``1 / detector_rate_hz`` seconds, Lucas-Kanade optical flow in between.

    With several faces it begins with the largest and stays with it: the detection that overlaps the followed face
    wins, however large others are, and a lost face's place is kept for it. Position comes from the flow, so that head
    motion is smooth. When the detector's answer changes from one run to the next it is asked about the pictures in
    between, too, so that a face begins and ends at the right picture and not at the detector's clock.
    """

    def __init__(self, settings: FeatureSettings, detector: FaceDetector) -> None:
        self._settings = settings
        self._detector = detector
        self._face: Face | None = None
        self._points: NDArray[np.float32] = np.zeros((0, 1, 2), dtype=np.float32)
        self._before: Step | None = None
        self._waiting: list[Step] = []
        """Pictures since the detector last saw no face: it may turn out that one is there."""
        self._unconfirmed: list[tuple[Step, Face]] = []
        """Pictures since the detector last confirmed the face: it may turn out that it has gone."""
        self._missed = 0
        self._confirmations = 0
        self._asked_s = -np.inf
        self._identities = 0
        self._lost: tuple[Face, float] | None = None
        self.withdrawn_from_s: float | None = None
        """Set by ``update``: faces that it gave from this time on are none after all."""
        self.doubted_s: tuple[float, float] | None = None
        """Set by ``update``: from then to before then the flow followed a face that the detector did not see at one of
        the ends; what such a face tells is worth nothing."""

    def update(self, picture: Picture, free: bool = True) -> list[FaceVisibility]:
        """Take in the next picture; returns the pictures, in order, about which it is now decided.

        A followed face is rather checked where that is ``free``, because the detector's answer is needed anyway.
        """
        step = self._step(picture)
        self.withdrawn_from_s = self.doubted_s = None
        check = self._due(step, 1.0 if free else PATIENT)
        decided = self._search(step) if self._face is None else self._follow(step, check)
        self._before = step
        return decided

    def finish(self) -> list[FaceVisibility]:
        """What is still undecided at the end: pictures without a face."""
        waiting, self._waiting = self._waiting, []
        return [step.seen(None) for step in waiting]

    def _step(self, picture: Picture) -> Step:
        import cv2

        width = picture.luma.shape[1]
        shrink = min(1.0, self._settings.face_width_px / width)
        if shrink == 1.0:
            return Step(picture, np.ascontiguousarray(picture.luma), 1.0)
        small = cv2.resize(picture.luma, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
        return Step(picture, np.asarray(small, dtype=np.uint8), width / small.shape[1])

    def _due(self, step: Step, intervals: float = 1.0) -> bool:
        waited_s = step.picture.time_s - self._asked_s
        return self._detector.steady or waited_s >= intervals / self._settings.detector_rate_hz - EARLY

    # Looking for a face

    def _search(self, step: Step) -> list[FaceVisibility]:
        self._waiting.append(step)
        if not self._due(step) and not self._is_cut(step):
            return []
        self._asked_s = step.picture.time_s
        waiting, self._waiting = self._waiting, []
        acquired = self._acquire(step)
        if acquired is None:
            return [pending.seen(None) for pending in waiting]
        first = _first(waiting, lambda pending: self._again(pending, acquired) is not None)
        start = self._again(waiting[first], acquired) if first < len(waiting) - 1 else None
        self._identities += 1
        face = replace(start or acquired, identity=self._identities)
        face = replace(face, head=face.centre)
        self._confirmations = 1
        self._missed, self._lost = 0, None
        decided = [pending.seen(None) for pending in waiting[:first]] + [waiting[first].seen(face)]
        self._set(waiting[first], face)
        for before, pending in zip(waiting[first:], waiting[first + 1 :], strict=False):
            self._before = before
            decided += [pending.seen(None)] if self._face is None else self._follow(pending, check=False)
        return decided

    def _acquire(self, step: Step) -> Face | None:
        """The face to begin with: at the place of the lost one while that is kept, else the largest."""
        faces = self._detector.find(step.picture, step.small, None)
        if self._lost is not None:
            home, lost_s = self._lost
            if step.picture.time_s - lost_s < self._settings.face_return_s:
                return max((f for f in faces if _at_home(f, home)), key=lambda f: f.overlap(home), default=None)
        return max(faces, key=lambda face: (face.side, -face.x, -face.y), default=None)

    def _is_cut(self, step: Step) -> bool:
        import cv2

        if self._before is None or self._before.small.shape != step.small.shape:
            return True
        return cv2.norm(self._before.small, step.small, cv2.NORM_L1) > CUT_DIFFERENCE * step.small.size

    # Following it

    def _follow(self, step: Step, check: bool) -> list[FaceVisibility]:
        assert self._face is not None
        assert self._before is not None
        if self._detector.steady:
            return self._refresh(step, self._face)
        moved, error = self._flow(self._before, step, self._face)
        if error > LARGEST_FLOW_ERROR and not self._is_hurried(step, moved, error):
            return self._recover(step, self._face)
        self._face = moved
        self._unconfirmed.append((step, moved))
        if check:
            self._confirm(step, moved)
            if self._face is None:
                return [step.seen(None)]
        return [step.seen(self._face)]

    def _is_hurried(self, step: Step, moved: Face, error: float) -> bool:
        """Whether it is the face that changed so much, and not what is shown."""
        return error <= HURRIED_FLOW_ERROR and not self._is_cut(step) and self._again(step, moved) is not None

    def _refresh(self, step: Step, face: Face) -> list[FaceVisibility]:
        """Follow by detections alone."""
        again = self._again(step, face)
        if again is None:
            self._lose(step, face)
            return [step.seen(None)]
        self._face = replace(again, identity=face.identity)
        return [step.seen(self._face)]

    def _recover(self, step: Step, face: Face) -> list[FaceVisibility]:
        """The flow is broken: the face moved fast, or something else is shown there now."""
        self._lose(step, face)
        self._asked_s = -np.inf
        return self._search(step)

    def _confirm(self, step: Step, face: Face) -> None:
        """Check the followed face against the detector; lose it after ``face_patience`` runs in vain."""
        waited_s = step.picture.time_s - self._asked_s
        self._asked_s = step.picture.time_s
        best = self._again(step, face)
        last_s = self._unconfirmed[0][0].picture.time_s
        if best is not None:
            if self._missed:
                self.doubted_s = (last_s, step.picture.time_s)
            self._missed = 0
            self._confirmations += 1
            # The plain mean of the first detections, then a fading one.
            share = max(1.0 / self._confirmations, min(1.0, waited_s / SQUARE_S))
            self._set(step, face.towards(best, share, min(1.0, waited_s / HEAD_S)))
            return
        self._missed += 1
        self.doubted_s = (last_s, np.inf)
        if self._missed < self._settings.face_patience:
            return
        since = self._unconfirmed
        gone = _first(since, lambda item: self._again(item[0], item[1]) is None)
        self.withdrawn_from_s = since[gone][0].picture.time_s
        self._lose(step, since[gone][1])

    def _again(self, step: Step, face: Face) -> Face | None:
        """The detector's face where ``face`` is expected, None where it sees none."""
        near = None if self._detector.steady else face
        faces = self._detector.find(step.picture, step.small, near)
        best = max(faces, key=face.overlap, default=None)
        return best if best is not None and face.overlap(best) >= SAME_FACE_OVERLAP else None

    def _set(self, step: Step, face: Face) -> None:
        self._face = face
        self._unconfirmed = []
        if not self._detector.steady:
            self._points = _corners(step.small, face)

    def _lose(self, step: Step, face: Face) -> None:
        self._face, self._unconfirmed, self._missed = None, [], 0
        self._lost = (face, step.picture.time_s)

    def _flow(self, before: Step, step: Step, face: Face) -> tuple[Face, float]:
        """Move the face by the median motion of its points; also their error, infinite when too few can be followed."""
        import cv2

        if len(self._points) < FEWEST_POINTS or before.small.shape != step.small.shape:
            return face, np.inf
        size = (FLOW_WINDOW_PX, FLOW_WINDOW_PX)
        landed, followed, errors = cv2.calcOpticalFlowPyrLK(
            before.small, step.small, self._points, np.empty_like(self._points), winSize=size, maxLevel=FLOW_LEVELS
        )
        moved = np.asarray(landed, dtype=np.float32)
        kept = np.asarray(followed)[:, 0] == 1
        if kept.sum() < max(FEWEST_POINTS, len(self._points) // 2):
            return face, np.inf
        dx, dy = _median((moved - self._points)[kept, 0])
        self._points = moved[kept]
        return face.moved(float(dx), float(dy)), float(_median(np.asarray(errors)[kept])[0])


def _first(items: Sequence[Item], holds: Callable[[Item], bool]) -> int:
    """Index of the first item for which ``holds``, by halving: it holds for the last, and for all after the first."""
    low, high = 0, len(items) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(items[middle]) else (middle + 1, high)
    return low


def _median(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Median of N >= 1 rows [N, C], a column each [C]: numpy's own takes six times as long for so few."""
    rows = np.sort(values, axis=0)
    middle: NDArray[np.float32] = (rows[(len(rows) - 1) // 2] + rows[len(rows) // 2]) / np.float32(2.0)
    return middle


def _at_home(face: Face, home: Face) -> bool:
    x, y = face.centre
    home_x, home_y = home.centre
    near = max(abs(x - home_x), abs(y - home_y)) < HOME_DISTANCE * home.side
    return near and 1 / HOME_SIZE < face.side / home.side < HOME_SIZE


def _corners(grey: Grey, face: Face) -> NDArray[np.float32]:
    """Well-textured points [N, 1, 2] float32 in the middle of the face, where no background shows."""
    import cv2

    middle = Face(face.x + 0.15 * face.side, face.y + 0.15 * face.side, 0.7 * face.side)
    patch = np.ascontiguousarray(middle.crop(grey))
    if min(patch.shape) < 3:
        return np.zeros((0, 1, 2), dtype=np.float32)
    points = cv2.goodFeaturesToTrack(patch, MOST_POINTS, 0.01, 3)
    # OpenCV answers None, against its own type, where there is no texture.
    corners = np.asarray([] if points is None else points, dtype=np.float32).reshape(-1, 1, 2)
    return corners + np.array([max(0, round(middle.x)), max(0, round(middle.y))], dtype=np.float32)
