"""The pair of networks over a whole film, whatever finds the face."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from apportion.corpus.session import Media, Session, Turn
from apportion.features.extract import extract_session
from apportion.features.face.emotion_reading import open_emotions
from apportion.features.face.face import FaceVisibility
from apportion.features.face.mesh.detector import MeshDetector
from apportion.features.media_io.video import Picture
from apportion.features.registry import EMOTIONS
from apportion.features.settings import FeatureSettings
from tests.features.clips import flat, write_movie
from tests.features.face.mesh.networks_here import mesh_here  # noqa: F401
from tests.features.planted import drawn


def luma(square: np.ndarray) -> np.ndarray:
    return np.asarray(cv2.cvtColor(square, cv2.COLOR_BGR2GRAY), np.uint8)


@pytest.mark.usefixtures("mesh_here")
@pytest.mark.parametrize("detector", ["mesh", "haar"])
def test_seven_emotions_are_read_at_first_use_and_contempt_is_null(tmp_path: Path, detector: str):
    write_movie(tmp_path / "a.mp4", [luma(drawn("ana", smile=6 if n >= 20 else 0)) for n in range(40)], fps=10)
    turns = (Turn(0, "b", "x", 0.0, 1.9), Turn(1, "b", "y", 2.3, 4.0))
    session = Session("s", turns, media=(Media("a", "video", "a.mp4"),))
    _, means, _ = extract_session(session, tmp_path, FeatureSettings(detector=detector))
    told = {(row["turn"], row["feature"]): (row["mean"], row["coverage"]) for row in means.to_pylist()}
    assert told[0, "contempt"] == told[1, "contempt"] == (None, 0.0)
    for turn in (0, 1):
        assert sum(told[turn, name][0] for name in EMOTIONS if name != "contempt") == pytest.approx(1.0)
    assert told[1, "happiness"][0] > 0.8 and told[1, "happiness"][1] > 0.8
    assert told[1, "happiness"][0] > told[0, "happiness"][0] + 0.2  # the photograph itself is of a friendly face
    strength = told[1, "smile_strength"]
    assert strength == (None, 0.0) if detector == "haar" else strength[0] > 0.9


@pytest.mark.usefixtures("mesh_here")
def test_where_no_face_is_nothing_is_read():
    settings = FeatureSettings(detector="mesh")
    detector, asked = MeshDetector(settings), []
    pair = SimpleNamespace(probabilities=lambda *_: asked.append(1) or np.zeros(8))
    reading = open_emotions(pair, detector, settings)  # type: ignore[arg-type]
    picture = Picture(0.0, luma(drawn("ana")))
    face = detector.find(picture, picture.luma, None)[0]
    assert reading(FaceVisibility(picture, None)) is None and asked == []
    assert reading(FaceVisibility(Picture(0.1, flat()), face)) is None and asked == []
    assert reading(FaceVisibility(picture, face)) is not None and asked == [1]
