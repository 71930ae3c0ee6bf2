"""What a followed face looks like, by whichever emotion model is used."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from apportion.features.emotion_model.network import EmotionModel
from apportion.features.face.detector import FaceDetector
from apportion.features.face.face import FaceVisibility
from apportion.features.settings import FeatureSettings

if TYPE_CHECKING:
    from apportion.features.emotion_model.expression_pair import ExpressionPair
    from apportion.features.face.mesh.detector import MeshDetector

Shares = NDArray[np.float32]
"""Of `EMOTIONS`."""


def open_emotions(
    emotions: EmotionModel | ExpressionPair, detector: FaceDetector, settings: FeatureSettings
) -> Callable[[FaceVisibility], Shares | None]:
    """What tells the emotions in the face that ``detector`` follows; None where no face is seen.

    The pair looks at a square around the points of the face, whatever found it.
    """
    if isinstance(emotions, EmotionModel):
        return partial(_in_box, emotions)
    from apportion.features.face.mesh.detector import MeshDetector

    points = detector if isinstance(detector, MeshDetector) else MeshDetector(settings)
    return partial(_around_points, emotions, points)


def _in_box(emotions: EmotionModel, seen: FaceVisibility) -> Shares | None:
    face = None if seen.face is None else seen.face.crop(seen.picture.colours())
    return None if face is None or min(face.shape) == 0 else emotions.probabilities(face)


def _around_points(emotions: ExpressionPair, detector: MeshDetector, seen: FaceVisibility) -> Shares | None:
    points = None if seen.face is None else detector.glance(seen.picture, seen.face)
    return None if points is None else emotions.probabilities(seen.picture.luma, points.points)
