"""Everything that is seen of one person, fed picture by picture from one decoding pass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from features.faces import Face, FaceFollower
from features.gaze import gaze_log_ratio, on_screen
from features.head import HeadEvents, HeadPath, head_events
from features.series import Series, Span, sampled
from features.settings import FeatureSettings
from features.smile import smile_score
from features.video import Grey

HOLD_PICTURES = 2.5
"""A picture counts for the time to its neighbours, but a gap of more than this many pictures is unobserved."""


@dataclass(frozen=True)
class Sight:
    """What was seen of one person on the session clock: series by feature name, head events, when the face was seen.

    ``series`` holds the features that are averaged (``gaze_on_screen`` and ``smile``, fractions); ``traces`` what is
    only stored: ``smile_score`` (hits of the cascade) and ``head_x``, ``head_y`` (face heights, right and down).
    """

    series: dict[str, Series]
    traces: dict[str, Series]
    events: HeadEvents
    seen: Series

    def measure(self, spans: Sequence[Span], length_s: float) -> dict[str, tuple[float | None, float]]:
        """Mean and coverage of every seen feature over ``spans``, a window of ``length_s`` seconds.

        Nods and shakes are the number of events while the face was seen, not a rate: "nods twice" is what a reader
        needs, and a rate follows from coverage and length. An event belongs to the window that holds its middle.
        """
        found = {name: series.mean(spans, length_s) for name, series in self.series.items()}
        _, coverage = self.seen.mean(spans, length_s)
        for name, events in (("nod_yes", self.events.yes), ("nod_no", self.events.no)):
            count = sum(a <= (start_s + end_s) / 2 < b for start_s, end_s in events for a, b in spans)
            found[name] = (float(count) if coverage > 0 else None, coverage)
        return found

    def stored(self) -> dict[str, Series]:
        """Every series of the ``frames`` table; nods and shakes are 1 within an event, else 0."""
        flags = {
            name: Series(self.seen.starts_s, self.seen.ends_s, _inside(self.seen, events))
            for name, events in (("nod_yes", self.events.yes), ("nod_no", self.events.no))
        }
        return {**self.series, **self.traces, **flags}


class Watcher:
    """Follows one person's face and collects a few numbers a picture; it keeps no pictures."""

    def __init__(self, settings: FeatureSettings, offset_s: float, half: str | None) -> None:
        self.half = half
        self._settings = settings
        self._offset_s = offset_s
        self._follower = FaceFollower(settings)
        self._faces: list[tuple[float, Face | None]] = []
        self._expressions: list[tuple[float, float, float]] = []

    def look(self, time_s: float, grey: Grey) -> None:
        """Take in one picture ``grey`` [height, width] uint8 of this person, ``time_s`` on the recording's clock."""
        import cv2

        time_s += self._offset_s
        shrink = min(1.0, self._settings.face_width_px / grey.shape[1])
        small = grey if shrink == 1.0 else cv2.resize(grey, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
        face = self._follower.follow(np.ascontiguousarray(small))
        if len(self._faces) % self._settings.expression_every == 0:
            self._expressions.append((time_s, *self._express(grey, face, 1.0 / shrink)))
        self._faces.append((time_s, face))

    def sight(self) -> Sight:
        """What was seen over the whole recording."""
        hold_s = HOLD_PICTURES / self._settings.video_rate_hz
        times = [time_s for time_s, _ in self._faces]
        seen = sampled(times, [math.nan if face is None else 1.0 for _, face in self._faces], hold_s)
        paths = self._paths()
        head = {
            name: sampled(
                np.concatenate([path.times_s for path in paths]) if paths else [],
                np.concatenate([path.x if name == "head_x" else path.y for path in paths]) if paths else [],
                hold_s,
            )
            for name in ("head_x", "head_y")
        }
        moments, scores, ratios = np.array(self._expressions, dtype=np.float64).reshape(-1, 3).T
        hold_s *= self._settings.expression_every
        smiles = np.where(np.isfinite(scores), (scores >= self._settings.smile_neighbours).astype(float), np.nan)
        series = {
            "gaze_on_screen": sampled(moments, on_screen(ratios, self._settings.gaze_ratio), hold_s),
            "smile": sampled(moments, smiles, hold_s),
        }
        traces = {"smile_score": sampled(moments, scores, hold_s), **head}
        return Sight(series, traces, head_events(paths, self._settings), seen)

    def _express(self, grey: Grey, face: Face | None, enlarge: float) -> tuple[float, float]:
        """Smile score and gaze ratio; NaN where no face is seen."""
        import cv2

        crop = None if face is None else face.scaled(enlarge).crop(grey)
        if crop is None or min(crop.shape) < 2:
            return math.nan, math.nan
        size = self._settings.smile_width_px
        scaled = np.asarray(cv2.resize(crop, (size, size), interpolation=cv2.INTER_AREA), dtype=np.uint8)
        return float(smile_score(scaled, self._settings.smile_scale)), gaze_log_ratio(scaled)

    def _paths(self) -> list[HeadPath]:
        """One path for each uninterrupted following of a face, scaled by its median height."""
        paths = []
        for identity, group in groupby(self._faces, key=lambda item: item[1].identity if item[1] else 0):
            if not identity:
                continue
            followed = [(time_s, *face.centre, face.height) for time_s, face in group if face is not None]
            times, x, y, height = np.array(followed, dtype=np.float64).T
            paths.append(HeadPath(times, x / np.median(height), y / np.median(height)))
        return paths


def _inside(series: Series, spans: Sequence[Span]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    times = series.times_s
    flags = np.zeros(len(times))
    for start_s, end_s in spans:
        flags[(times >= start_s) & (times <= end_s)] = 1.0
    return np.where(np.isfinite(series.values), flags, np.nan)
