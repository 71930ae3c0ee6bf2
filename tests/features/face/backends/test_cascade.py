import cv2.data
import pytest

from apportion.features.face.backends.cascade import cascade
from apportion.foundation.errors import InputError


def test_the_packaged_cascades_are_there():
    assert not cascade("frontalface_default").empty()
    assert cascade("smile") is cascade("smile")


def test_an_opencv_without_cascades_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(cv2.data, "haarcascades", f"{tmp_path}/")
    with pytest.raises(InputError, match=r"haarcascade_eye\.xml: OpenCV .* brought no such cascade"):
        cascade("eye")
