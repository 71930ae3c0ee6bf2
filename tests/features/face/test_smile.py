import cv2
import numpy as np
import pytest

from apportion.features.face.detector import open_detector
from apportion.features.face.expressions import smile_score
from apportion.features.face.tracker import FaceTracker
from apportion.features.media_io.media import open_recording
from apportion.features.media_io.video import read_pictures
from apportion.features.settings import FeatureSettings
from tests.features.clips import flat
from tests.shared import shared

SETTINGS = FeatureSettings()


def _scores(name: str) -> np.ndarray:
    """(time_s, score) of every picture with a face [F, 2]."""
    path, tracker, found = shared(f"media/{name}"), FaceTracker(SETTINGS, open_detector(SETTINGS)), []
    with open_recording(path.parent, path.name, 1.0) as recording:
        for picture in read_pictures(recording, recording.stream("video"), 5.0):
            for seen in tracker.update(picture):
                if seen.face is not None:
                    crop = cv2.resize(seen.face.crop(seen.picture.luma), (160, 160), interpolation=cv2.INTER_AREA)
                    found.append((seen.picture.time_s, smile_score(crop, SETTINGS.smile_scale)))
    return np.array(found)


def test_a_blank_face_does_not_smile():
    assert smile_score(flat(width=160, height=160), SETTINGS.smile_scale) == 0


@pytest.mark.parametrize(
    ("name", "sad", "happy"),
    [("WolfgangLanger_Pexels.mp4", (0.0, 9.0), (10.0, 16.5)), ("single_face.mp4", (0.0, 0.55), (0.9, 2.4))],
)
def test_laughing_is_told_from_sad_or_neutral(name, sad, happy):
    scores = _scores(name)
    smiling = {}
    for label, (start_s, end_s) in {"sad": sad, "happy": happy}.items():
        inside = (scores[:, 0] >= start_s) & (scores[:, 0] < end_s)
        smiling[label] = float((scores[inside, 1] >= SETTINGS.smile_neighbours).mean())
    assert smiling["sad"] < 0.2
    assert smiling["happy"] > 0.6
