"""What the mesh tells over time: smile, gaze, the eyes' state, turn of the head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from apportion.features.face.face import FaceSeries, FaceVisibility
from apportion.features.face.mesh.brow_raise import lowered, raised
from apportion.features.face.mesh.detector import MeshDetector
from apportion.features.face.mesh.eye_state import eye_states
from apportion.features.face.mesh.frame_features import NOT_SEEN, FaceFrameFeatures, read_face
from apportion.features.face.mesh.gaze import on_screen
from apportion.features.face.mesh.mouth import is_open
from apportion.features.face.mesh.nods import Poses, posed_events
from apportion.features.face.mesh.single_nods import single_nods
from apportion.features.face.nods import HeadEvents, HeadTrajectory
from apportion.features.sampling_clock import Clock, hold_s
from apportion.features.settings import FeatureSettings
from apportion.features.time_series import Span, sampled, smoothed
from apportion.foundation.arrays import Floats

SMILE_SMOOTH_S = 0.6
"""A smile is decided on the median of so many seconds (three looks): single syllables draw the mouth wide, too, and a
longer median swallows short smiles. Chosen with `smile_level` on films of other people (docs/evidence/features.md)."""
EXPRESSION_SMOOTH_S = 1.0
"""The same for brows and an open mouth."""
LEAST_CONFIDENCE = 0.25
"""Confidence below which nothing is said of the gaze."""


class MeshExpressions:
    """Points ``mesh_rate_hz`` times a second, the eyes ``iris_rate_hz`` times: the other pictures are only followed."""

    def __init__(self, settings: FeatureSettings, detector: MeshDetector) -> None:
        self._settings = settings
        self._detector = detector
        self._clock = Clock(settings.mesh_rate_hz)
        self._iris_clock = Clock(settings.iris_rate_hz) if settings.iris_rate_hz else None
        self._at: list[tuple[float, bool, FaceFrameFeatures]] = []
        """Time, whether the eyes were looked at, and what was told."""

    def note(self, time_s: float, seen: FaceVisibility) -> None:
        """See ``Expressions.note``."""
        if self._clock.ticks(time_s):
            with_eyes = self._iris_clock is not None and self._iris_clock.ticks(time_s)
            told = read_face(self._detector, seen.picture, seen.face, with_eyes, self._settings.smile_level)
            self._at.append((time_s, with_eyes, told))

    def looks(self, time_s: float) -> bool:
        """See ``Expressions.looks``: points that confirm a face are read for the expression, too."""
        return self._clock.due(time_s)

    def forget(self, span: Span) -> None:
        """See ``Expressions.forget``."""
        since_s, until_s = span
        self._at = [(t, eyes, NOT_SEEN if since_s <= t < until_s else told) for t, eyes, told in self._at]

    def told(self) -> FaceSeries:
        """See ``Expressions.told``; the eyes' states are 1 or 0, and 0 in a blink; they are not there without
        the iris.

        Traces: ``smile_score``, ``mouth_opening``, ``brow_height`` and ``inner_brow_height``; ``head_yaw_deg``,
        ``head_pitch_deg``, ``head_roll_deg``; of the looks at the eyes ``eye_opening``, ``blink`` (1 within one),
        ``gaze_yaw_deg``, ``gaze_lift_deg`` and ``gaze_confidence``.
        """
        settings = self._settings
        times = [time_s for time_s, _, _ in self._at]
        held_s = hold_s(times, settings.mesh_rate_hz)
        scores, mouth = self._values(lambda told: told.smile), self._values(lambda told: told.mouth)
        brows, inner = self._values(lambda told: told.brows), self._values(lambda told: told.inner_brows)
        level = smoothed(times, scores, SMILE_SMOOTH_S)
        smiling = level >= settings.smile_level
        decided = {
            "smile": np.where(np.isfinite(level), smiling.astype(float), np.nan),
            "smile_strength": np.where(smiling, level, np.nan),
            "frown": lowered(smoothed(times, inner, EXPRESSION_SMOOTH_S)),
            "brow_raise": raised(smoothed(times, brows, EXPRESSION_SMOOTH_S)),
            "mouth_open": is_open(smoothed(times, mouth, EXPRESSION_SMOOTH_S)),
        }
        eyes = self._eyes()
        traces = eyes.traces | {
            name: sampled(times, values, held_s)
            for name, values in (
                ("smile_score", scores),
                ("brow_height", brows),
                ("inner_brow_height", inner),
                ("mouth_opening", mouth),
                ("head_yaw_deg", self._values(lambda told: told.pose.yaw)),
                ("head_pitch_deg", self._values(lambda told: told.pose.pitch)),
                ("head_roll_deg", self._values(lambda told: told.pose.roll)),
            )
        }
        series = {name: sampled(times, values, held_s) for name, values in decided.items()}
        return FaceSeries(eyes.series | series, traces, eyes.blinks)

    def head_events(self, paths: Sequence[HeadTrajectory]) -> HeadEvents:
        """See ``Expressions.head_events``."""
        times = np.array([time_s for time_s, _, _ in self._at], dtype=np.float64)
        poses = Poses(times, self._values(lambda told: told.pose.yaw), self._values(lambda told: told.pose.pitch))
        events = posed_events(paths, poses, self._settings)
        return replace(events, single=single_nods(paths, poses, events.yes, self._settings.nod_range))

    def _eyes(self) -> FaceSeries:
        """On screen or not, the eyes' state, and what it is decided from; without the iris by the head alone.

        Eyes that are not open look nowhere: there the gaze is unobserved, neither on nor off the screen.
        """
        settings = self._settings
        with_eyes = self._iris_clock is not None
        rate_hz = min(settings.iris_rate_hz, settings.mesh_rate_hz) if with_eyes else settings.mesh_rate_hz
        at = [(time_s, told) for time_s, eyes, told in self._at if eyes or not with_eyes]
        times = [time_s for time_s, _ in at]
        held_s = hold_s(times, rate_hz)
        rows = [(t.gaze, t.pose.yaw, t.pose.pitch, t.confidence, t.eyes.opening, t.eyes.lifted, t.smile) for _, t in at]
        yaws, heads, pitches, confidence, opening, lifts, smiles = np.array(rows, dtype=np.float64).reshape(-1, 7).T
        eyes = eye_states(times, opening, lifts, smiles, settings.eyes_closed_opening)
        sure = (confidence >= LEAST_CONFIDENCE) & (eyes.down != 1.0)
        yaws = np.where(sure, yaws, np.nan)
        span_s = float(np.isfinite(yaws).sum()) / rate_hz
        gaze = on_screen(yaws, pitches, lifts, span_s, settings.gaze_angle_deg)
        series = {"gaze_on_screen": gaze.on_screen, "gaze_border": gaze.near_border}
        traces = {"gaze_yaw_deg": yaws, "gaze_confidence": confidence}
        if with_eyes:
            aside = (gaze.on_screen == 0.0) & (np.abs(heads) <= settings.gaze_angle_deg)
            blinking = np.where(np.isfinite(opening), _within(times, eyes.blinks), np.nan)
            series |= {"eyes_aside": np.where(np.isfinite(yaws), aside.astype(float), np.nan)}
            series |= {"eyes_lowered": eyes.lowered, "eyes_closed": eyes.closed, "eyes_down_or_closed": eyes.either}
            traces |= {"eye_opening": opening, "blink": blinking, "gaze_lift_deg": lifts}
        held = [{name: sampled(times, v, held_s) for name, v in values.items()} for values in (series, traces)]
        return FaceSeries(held[0], held[1], eyes.blinks)

    def _values(self, of: Callable[[FaceFrameFeatures], float]) -> Floats:
        return np.array([of(told) for _, _, told in self._at], dtype=np.float64)


def _within(times_s: list[float], spans: Sequence[Span]) -> Floats:
    return np.array([float(any(a < t < b for a, b in spans)) for t in times_s], dtype=np.float64)
