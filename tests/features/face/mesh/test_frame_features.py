"""What one look asks of the points and of the whole face."""

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


@pytest.fixture(autouse=True)
def _a_mouth_that_smiles(monkeypatch: pytest.MonkeyPatch):
    for name, told in {
        "head_pose": HeadPose(0.0, 0.0, 0.0),
        "mouth_opening": 0.1,
        "lid_opening": 0.4,
        "brow_height": 0.2,
        "inner_brow_height": 0.2,
    }.items():
        monkeypatch.setattr(frame_features, name, lambda *_, told=told: told)


def test_the_whole_face_is_that_of_the_points_and_the_picture(monkeypatch: pytest.MonkeyPatch):
    places, asked = np.zeros((468, 3)), []
    pair = SimpleNamespace(at_one_look=lambda luma, points: asked.append((luma, points)) or (1.0, 0.5))
    points = SimpleNamespace(points=places, certainty=1.0, apart=lambda *_: 30.0)
    detector = SimpleNamespace(networks=SimpleNamespace(pair=pair), points_at=lambda *_: points)
    monkeypatch.setattr(frame_features, "smile_score", lambda face, whole, level: level * whole()[1])
    picture = Picture(0.0, flat())
    told = read_face(detector, picture, Face(0, 0, 10), False, 0.6)  # type: ignore[arg-type]
    assert told.smile == pytest.approx(0.3)
    assert len(asked) == 1 and asked[0][0] is picture.luma and asked[0][1] is places
    monkeypatch.setattr(frame_features, "head_pose", lambda *_: HeadPose(51.0, 0.0, 0.0))
    turned = read_face(detector, picture, Face(0, 0, 10), False, 0.6)  # type: ignore[arg-type]
    assert np.isnan(turned.smile) and len(asked) == 1
