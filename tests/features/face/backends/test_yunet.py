import re

import cv2
import numpy as np
import pytest

from apportion.features.face.backends.yunet import YuNetDetector
from apportion.features.face.face import Face
from apportion.features.media_io.video import Picture
from apportion.features.settings import FeatureSettings
from apportion.foundation.errors import InputError
from tests.shared import shared


def _detector(model) -> YuNetDetector:
    return YuNetDetector(FeatureSettings(detector="yunet", yunet_model=model))


def test_no_model_a_missing_one_and_another_file_are_told(tmp_path):
    with pytest.raises(InputError, match=re.escape("needs features.yunet_model")):
        _detector(None)
    with pytest.raises(InputError, match=r"nowhere\.onnx: no such file"):
        _detector(tmp_path / "nowhere.onnx")
    (tmp_path / "a.onnx").write_bytes(b"no model at all")
    with pytest.raises(InputError, match="not a YuNet face detector"):
        _detector(tmp_path / "a.onnx")


def test_faces_of_a_real_picture_and_one_of_them_again():
    detector = _detector(shared("models/face_detection_yunet_2026may.onnx"))
    grey = cv2.imread(str(shared("media/multi_face.jpg")), cv2.IMREAD_GRAYSCALE)
    small = cv2.resize(grey, (640, round(640 * grey.shape[0] / grey.shape[1])), interpolation=cv2.INTER_AREA)
    detector._smallest = 0.03
    faces = detector.find(Picture(0.0, grey), small, None)
    assert len(faces) >= 3
    for face in faces:
        again = max(detector.find(Picture(0.0, grey), small, face), key=face.overlap)
        assert face.overlap(again) > 0.6


def test_nothing_near_is_nothing():
    detector = _detector(shared("models/face_detection_yunet_2026may.onnx"))
    grey = np.full((240, 320), 90, np.uint8)
    assert detector.find(Picture(0.0, grey), grey, None) == []
    assert detector.find(Picture(0.0, grey), grey, Face(300.0, 200.0, 60.0)) == []
