"""What finds faces in a picture, and the choice between the back-ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from apportion.features.face.choice import chosen_detector
from apportion.features.face.face import Face
from apportion.features.media_io.video import Grey, Picture
from apportion.features.settings import FeatureSettings


class FaceDetector(Protocol):
    """A back-end. ``steady`` says that its faces do not jump, so that it is asked for every picture and no optical
    flow is needed between."""

    steady: bool

    def find(self, picture: Picture, small: Grey, near: Face | None) -> Sequence[Face]:
        """Faces in ``small`` [height, width] uint8, in its pixels, the most certain first.

        ``small`` is ``picture`` scaled down. With ``near``, only faces about there and about that large are needed.
        """
        ...


def open_detector(settings: FeatureSettings) -> FaceDetector:
    """The back-end that ``settings`` mean, one for each followed person.

    Raises ``InputError`` for a model file that is missing or cannot be read, and a back-end that is not installed.
    """
    chosen = chosen_detector(settings)
    if chosen == "yunet":
        from apportion.features.face.backends.yunet import YuNetDetector

        return YuNetDetector(settings)
    if chosen == "mesh":
        from apportion.features.face.mesh.detector import MeshDetector

        return MeshDetector(settings)
    if chosen == "mediapipe":
        from apportion.features.face.backends.landmarker import LandmarkDetector

        return LandmarkDetector(settings)
    from apportion.features.face.backends.haar import HaarDetector

    return HaarDetector(settings)
