"""What a face shows over time: smile and gaze, by cascade and pixels or as a back-end tells them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from apportion.features.face.backends.cascade import cascade
from apportion.features.face.detector import FaceDetector
from apportion.features.face.face import FaceSeries, FaceVisibility
from apportion.features.face.gaze import gaze_log_ratio, on_screen
from apportion.features.face.nods import HeadEvents, HeadTrajectory, head_events
from apportion.features.media_io.video import Grey
from apportion.features.sampling_clock import Clock, hold_s
from apportion.features.settings import FeatureSettings
from apportion.features.time_series import Span, sampled, smoothed

MOUTH_TOP, MOUTH_SIDE = 0.6, 0.1
"""The mouth region: below 60 % of the face's height, without 10 % at each side."""


def smile_score(face: Grey, scale: float) -> int:
    """Most overlapping hits of the smile cascade in the mouth region of ``face`` [W, W] uint8; 0 for none.

    The count depends on the region's size, so every face must come scaled to the same ``W``. With the cascade's
    defaults (1.1, 3) it fires on every picture of a sad face; ``smile_scale`` 1.7 and 20 hits at W = 160 px do not.
    Source: smile of LLM-GELI section 5.1 (cv2.CascadeClassifier).
    """
    import cv2

    size = face.shape[0]
    side = round(MOUTH_SIDE * size)
    mouth = np.ascontiguousarray(face[round(MOUTH_TOP * size) :, side : size - side])
    # A dark picture has few grey levels, and the cascade then sees nothing.
    mouth = np.asarray(cv2.normalize(mouth, np.empty_like(mouth), 0, 255, cv2.NORM_MINMAX), dtype=np.uint8)
    _, hits = cascade("smile").detectMultiScale2(mouth, scale, 1)
    return int(max(hits, default=0))


class Expressions(Protocol):
    """Collects what one person's face shows, picture by picture."""

    def note(self, time_s: float, seen: FaceVisibility) -> None:
        """Take in a picture about which it is decided whether the face is in it."""
        ...

    def looks(self, time_s: float) -> bool:
        """Whether nothing more is asked of the detector at ``time_s`` than is read then in any case."""
        ...

    def forget(self, span: Span) -> None:
        """Take back what was told within ``span``: it was another thing than the face."""
        ...

    def told(self) -> FaceSeries:
        """What the face showed over the whole recording."""
        ...

    def head_events(self, paths: Sequence[HeadTrajectory]) -> HeadEvents:
        """Nods and shakes in the paths of the head."""
        ...


def open_expressions(settings: FeatureSettings, detector: FaceDetector) -> Expressions:
    """What reads the faces that ``detector`` finds."""
    if settings.detector == "mesh":
        from apportion.features.face.mesh.detector import MeshDetector
        from apportion.features.face.mesh.expressions import MeshExpressions

        assert isinstance(detector, MeshDetector)
        return MeshExpressions(settings, detector)
    return ScoredExpressions(settings)


class ScoredExpressions:
    """Hits of the smile cascade and white of the eyes; with `mediapipe` what its landmarks tell instead."""

    def __init__(self, settings: FeatureSettings) -> None:
        self._settings = settings
        self._clock = Clock(settings.expression_rate_hz)
        self._at: list[tuple[float, float, float]] = []

    def note(self, time_s: float, seen: FaceVisibility) -> None:
        """See ``Expressions.note``."""
        if self._clock.ticks(time_s):
            self._at.append((time_s, *self._scores(seen)))

    def looks(self, time_s: float) -> bool:
        """See ``Expressions.looks``: nothing is read that the detector finds, and no moment is better."""
        return True

    def forget(self, span: Span) -> None:
        """See ``Expressions.forget``."""
        since_s, until_s = span
        self._at = [(at[0], math.nan, math.nan) if since_s <= at[0] < until_s else at for at in self._at]

    def told(self) -> FaceSeries:
        """See ``Expressions.told``; the traces are the raw scores."""
        settings = self._settings
        by_landmarks = settings.detector == "mediapipe"
        moments, scores, looks = np.array(self._at, dtype=np.float64).reshape(-1, 3).T
        held_s = hold_s(moments.tolist(), settings.expression_rate_hz)
        enough = settings.smile_blendshape if by_landmarks else settings.smile_neighbours
        level = smoothed(moments, scores, settings.expression_smooth_s)
        smiles = np.where(np.isfinite(level), (level >= enough).astype(float), np.nan)
        limit = settings.gaze_look if by_landmarks else math.log(settings.gaze_ratio)
        gaze = on_screen(smoothed(moments, looks, settings.expression_smooth_s), limit)
        raw = "gaze_look" if by_landmarks else "gaze_log_ratio"
        return FaceSeries(
            {"gaze_on_screen": sampled(moments, gaze, held_s), "smile": sampled(moments, smiles, held_s)},
            {"smile_score": sampled(moments, scores, held_s), raw: sampled(moments, looks, held_s)},
        )

    def head_events(self, paths: Sequence[HeadTrajectory]) -> HeadEvents:
        """See ``Expressions.head_events``."""
        return head_events(paths, self._settings)

    def _scores(self, seen: FaceVisibility) -> tuple[float, float]:
        """Smile score and where the eyes look; NaN where no face is seen."""
        import cv2

        face, luma = seen.face, seen.picture.luma
        if face is None:
            return math.nan, math.nan
        if face.landmarks is not None:
            return face.landmarks.smile, face.landmarks.look
        crop = face.crop(luma)
        if min(crop.shape) < 2:
            return math.nan, math.nan
        size = self._settings.smile_width_px
        scaled = np.asarray(cv2.resize(crop, (size, size), interpolation=cv2.INTER_AREA), dtype=np.uint8)
        return float(smile_score(scaled, self._settings.smile_scale)), gaze_log_ratio(luma, face)
