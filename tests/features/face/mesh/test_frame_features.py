"""What one look tells, where the points and the whole face disagree."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from apportion.features.face.face import Face
from apportion.features.face.mesh import frame_features
from apportion.features.face.mesh.frame_features import read_face
from apportion.features.face.mesh.head_pose import HeadPose
from apportion.features.media_io.video import Picture
from tests.features.clips import flat

SCORE = 0.6


class Networks:
    """A whole face that looks as happy as a test says."""

    def __init__(self, happiness: float) -> None:
        self.asked = 0
        self.happy = self
        self._happiness = happiness

    def happiness(self, luma: np.ndarray, points: np.ndarray) -> float:
        self.asked += 1
        return self._happiness


@pytest.fixture(autouse=True)
def _a_mouth_that_smiles(monkeypatch: pytest.MonkeyPatch):
    for name, told in {
        "head_pose": HeadPose(0.0, 0.0, 0.0),
        "smile_score": SCORE,
        "mouth_opening": 0.1,
        "lid_opening": 0.4,
        "brow_height": 0.2,
        "inner_brow_height": 0.2,
    }.items():
        monkeypatch.setattr(frame_features, name, lambda *_, told=told: told)


def _smile(happiness: float, level: float) -> tuple[float, int]:
    networks = Networks(happiness)
    points = SimpleNamespace(points=np.zeros((468, 3)), certainty=1.0, apart=lambda *_: 30.0)
    detector = SimpleNamespace(networks=networks, points_at=lambda *_: points)
    told = read_face(detector, Picture(0.0, flat()), Face(0, 0, 10), False, level)  # type: ignore[arg-type]
    return told.smile, networks.asked


def test_the_whole_face_is_asked_only_where_the_mouth_smiles_and_must_look_happy():
    assert _smile(0.4, level=SCORE) == (0.0, 1)
    assert _smile(0.6, level=SCORE) == (SCORE, 1)
    assert _smile(0.4, level=SCORE + 0.01) == (SCORE, 0)
