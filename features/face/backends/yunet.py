"""Faces by YuNet, a small neural detector in an ONNX file that the user gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from apportion.features.face.face import Face, face_of_landmarks
from apportion.features.media_io.video import Grey, Picture
from apportion.features.settings import FeatureSettings
from apportion.foundation.errors import InputError

NEAR_PX = 128
"""Side of the square picture in which a known face is looked for again."""
MARGIN = 0.5
CERTAIN = 0.7
"""Score from which a hit is a face; the model's own demo uses 0.6 to 0.9."""
OVERLAP, KEPT = 0.3, 50


class YuNetDetector:
    """YuNet (Wu et al., 2023) through OpenCV: faces and five landmarks; turned heads too.

    The file is ``face_detection_yunet_*.onnx`` of OpenCV's model zoo (MIT).
    """

    steady = False

    def __init__(self, settings: FeatureSettings) -> None:
        self._smallest = settings.face_min_fraction
        self._model = str(_checked(settings.yunet_model))
        self._whole: Any = None
        self._near = self._opened((NEAR_PX, NEAR_PX))

    def find(self, picture: Picture, small: Grey, near: Face | None) -> list[Face]:
        """See ``FaceDetector.find``."""
        if near is None:
            return [face for face in self._search(small) if face.side >= self._smallest * small.shape[1]]
        import cv2

        side = (1 + 2 * MARGIN) * near.side
        shrink = NEAR_PX / side
        # One affine map cuts the square, pads it where it leaves the picture and scales it.
        place = np.array([[shrink, 0, -shrink * (near.x - MARGIN * near.side)], [0, shrink, 0]], dtype=np.float64)
        place[1, 2] = -shrink * (near.y - MARGIN * near.side)
        square = cv2.warpAffine(small, place, (NEAR_PX, NEAR_PX), flags=cv2.INTER_LINEAR)
        faces = [face.scaled(1 / shrink) for face in _faces(self._near, np.asarray(square, dtype=np.uint8))]
        return [face.moved(near.x - MARGIN * near.side, near.y - MARGIN * near.side) for face in faces]

    def _search(self, small: Grey) -> list[Face]:
        size = (small.shape[1], small.shape[0])
        if self._whole is None or self._whole.getInputSize() != size:
            self._whole = self._opened(size)
        return _faces(self._whole, small)

    def _opened(self, size: tuple[int, int]) -> Any:
        import cv2

        cv2.setNumThreads(1)
        try:
            return cv2.FaceDetectorYN.create(self._model, "", size, CERTAIN, OVERLAP, KEPT)
        except cv2.error as error:
            raise InputError(
                f"features.yunet_model = {self._model}: not a YuNet face detector that OpenCV can read "
                f"({str(error).strip().splitlines()[-1][:120]}). Get face_detection_yunet_*.onnx from OpenCV's zoo."
            ) from None


def _checked(path: Path | None) -> Path:
    if path is None:
        raise InputError(
            'features.detector = "yunet" needs features.yunet_model: the path of face_detection_yunet_*.onnx from '
            'OpenCV\'s model zoo (https://github.com/opencv/opencv_zoo). Give it, or take detector = "haar".'
        )
    if not path.is_file():
        raise InputError(f"features.yunet_model = {path}: no such file. Correct the path in the configuration.")
    return path


def _faces(model: Any, grey: Grey) -> list[Face]:
    import cv2

    _, rows = model.detect(cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR))
    faces = []
    # A row: box (4), then x, y of right eye, left eye, nose, right and left corner of the mouth, then the score.
    for row in [] if rows is None else rows[np.argsort(-rows[:, 14], kind="stable")]:
        points = row[4:14].astype(np.float64).reshape(5, 2)
        first, second = sorted((tuple(points[0].tolist()), tuple(points[1].tolist())))
        mouth = tuple(((points[3] + points[4]) / 2).tolist())
        faces.append(face_of_landmarks((first, second), mouth))
    return faces
