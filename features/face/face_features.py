"""What is measured in one person's face, picture by picture of one decoding pass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from apportion.features.face.choice import named, picture_rate_hz
from apportion.features.face.detector import open_detector
from apportion.features.face.emotion_reading import open_emotions
from apportion.features.face.expressions import open_expressions
from apportion.features.face.face import Face, FaceSeries, FaceVisibility
from apportion.features.face.nods import HeadEvents, HeadTrajectory
from apportion.features.face.tracker import FaceTracker
from apportion.features.media_io.video import Picture
from apportion.features.registry import EMOTIONS, Measured, measure_track
from apportion.features.sampling_clock import Clock, hold_s
from apportion.features.settings import FeatureSettings
from apportion.features.time_series import Series, Span, sampled

if TYPE_CHECKING:
    from apportion.features.emotion_model.expression_pair import ExpressionPair
    from apportion.features.emotion_model.network import EmotionModel


@dataclass(frozen=True)
class FaceMeasures:
    """What one person's face showed, on the session clock: series by feature name, head events, when the face was seen.

    ``series`` holds the features that are averaged (fractions of time; probabilities), ``traces`` what is only stored:
    raw scores, and ``head_x``, ``head_y`` (face heights, right and down). ``blinks`` are seconds, in order; ``speech``
    is when the person speaks.
    """

    series: dict[str, Series]
    traces: dict[str, Series]
    events: HeadEvents
    seen: Series
    blinks: tuple[Span, ...] = ()
    speech: Sequence[Span] = ()

    def measure(self, spans: Sequence[Span], length_s: float) -> dict[str, Measured]:
        """Mean and coverage of every face feature over ``spans``, a window of ``length_s`` seconds."""
        return measure_track("face", self, spans, length_s)

    @property
    def smiles(self) -> tuple[Span, ...]:
        """From when to when the face smiled; a time in which it was not seen ends a smile."""
        return self.series["smile"].where_on() if "smile" in self.series else ()

    @property
    def head_events(self) -> dict[str, tuple[Span, ...]]:
        """Nods and shakes by the name of their feature."""
        return self.events.by_feature

    def stored(self) -> dict[str, Series]:
        """Every series of the ``frames`` table; nods and shakes are 1 within an event, else 0."""
        flags = {
            name: Series(self.seen.starts_s, self.seen.ends_s, _inside(self.seen, events))
            for name, events in self.head_events.items()
        }
        return {**self.series, **self.traces, **flags}


class FaceMeter:
    """Follows one person's face and collects a few numbers a picture; it keeps no pictures."""

    def __init__(
        self,
        settings: FeatureSettings,
        offset_s: float,
        half: str | None,
        emotions: EmotionModel | ExpressionPair | None = None,
    ) -> None:
        settings = named(settings)
        self.half = half
        self._settings = settings
        self._offset_s = offset_s
        detector = open_detector(settings)
        self._tracker = FaceTracker(settings, detector)
        self._expressions = open_expressions(settings, detector)
        self._emotions_in = None if emotions is None else open_emotions(emotions, detector, settings)
        self._faces: list[tuple[float, Face | None]] = []
        self._emotions_at: list[tuple[float, NDArray[np.float32] | None]] = []
        self._emotion_clock = Clock(settings.emotion_rate_hz)

    def add(self, picture: Picture) -> None:
        """Take in one picture of this person, on the recording's clock."""
        for seen in self._tracker.update(picture, self._expressions.looks(picture.time_s + self._offset_s)):
            self._note(seen)
        self._forget(self._tracker.withdrawn_from_s, self._tracker.doubted_s)

    def measures(self) -> FaceMeasures:
        """What was measured over the whole recording; to be asked once, at its end."""
        for seen in self._tracker.finish():
            self._note(seen)
        times = [time_s for time_s, _ in self._faces]
        held_s = hold_s(times, picture_rate_hz(self._settings))
        seen_series = sampled(times, [math.nan if face is None else 1.0 for _, face in self._faces], held_s)
        paths = self._paths()
        told = self._expressed()
        traces = told.traces | self._traced(paths, held_s)
        events = self._expressions.head_events(paths)
        return FaceMeasures(told.series, traces, events, seen_series, told.blinks)

    def _note(self, seen: FaceVisibility) -> None:
        time_s = seen.picture.time_s + self._offset_s
        self._expressions.note(time_s, seen)
        if self._emotions_in is not None and self._emotion_clock.ticks(time_s):
            self._emotions_at.append((time_s, self._emotions_in(seen)))
        self._faces.append((time_s, seen.face))

    def _forget(self, faceless_s: float | None, doubted_s: Span | None) -> None:
        """Take back faces from ``faceless_s`` on, and what they told then and in ``doubted_s`` (recording's clock)."""
        since_s, until_s = doubted_s or (math.inf, math.inf)
        if faceless_s is not None:
            gone_s = faceless_s + self._offset_s
            self._faces = [(time_s, face if time_s < gone_s else None) for time_s, face in self._faces]
            since_s, until_s = min(since_s, faceless_s), math.inf
        if math.isfinite(since_s):
            since_s, until_s = since_s + self._offset_s, until_s + self._offset_s
            self._expressions.forget((since_s, until_s))
            self._emotions_at = [
                (time_s, None if since_s <= time_s < until_s else seen) for time_s, seen in self._emotions_at
            ]

    def _expressed(self) -> FaceSeries:
        """The decisions and the raw scores beside them."""
        told = self._expressions.told()
        series = dict(told.series)
        for index, name in enumerate(EMOTIONS if self._emotions_in is not None else ()):
            values = [math.nan if seen is None else float(seen[index]) for _, seen in self._emotions_at]
            times_s = [time_s for time_s, _ in self._emotions_at]
            series[name] = sampled(times_s, values, hold_s(times_s, self._settings.emotion_rate_hz))
        return replace(told, series=series)

    def _traced(self, paths: Sequence[HeadTrajectory], held_s: float) -> dict[str, Series]:
        """Where the head was, and how it was turned where the back-end tells."""
        times = np.concatenate([path.times_s for path in paths]) if paths else np.zeros(0)
        x, y = (np.concatenate([p.x if axis else p.y for p in paths]) if paths else times for axis in (1, 0))
        traces = {"head_x": sampled(times, x, held_s), "head_y": sampled(times, y, held_s)}
        turned = [
            (t, f.landmarks.yaw_deg, f.landmarks.pitch_deg) for t, f in self._faces if f is not None and f.landmarks
        ]
        if turned:
            moments, yaw, pitch = np.array(turned, dtype=np.float64).T
            traces |= {"head_yaw_deg": sampled(moments, yaw, held_s), "head_pitch_deg": sampled(moments, pitch, held_s)}
        return traces

    def _paths(self) -> list[HeadTrajectory]:
        """One path for each uninterrupted following of a face, scaled by its median height."""
        paths = []
        for identity, group in groupby(self._faces, key=lambda item: item[1].identity if item[1] else 0):
            if not identity:
                continue
            followed = [(time_s, *(face.head or face.centre), face.side) for time_s, face in group if face is not None]
            times, x, y, height = np.array(followed, dtype=np.float64).T
            paths.append(HeadTrajectory(times, x / np.median(height), y / np.median(height)))
        return paths


def _inside(series: Series, spans: Sequence[Span]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    times = series.times_s
    flags = np.zeros(len(times))
    for start_s, end_s in spans:
        flags[(times >= start_s) & (times <= end_s)] = 1.0
    return np.where(np.isfinite(series.values), flags, np.nan)
