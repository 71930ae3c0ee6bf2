from pathlib import Path

import pytest

from apportion.corpus.session import Media, Session, Turn
from apportion.features.extract import extract_session
from apportion.features.face.video_analysis import watch
from apportion.features.settings import FeatureSettings
from tests.features.clips import astronaut, flat, write_two_videos

SETTINGS = FeatureSettings(emotion_model="none")
SCREEN = [flat(width=256, height=256)] * 50


@pytest.mark.parametrize("face_at", [0, 1])
def test_of_two_videos_the_one_with_the_face_is_taken_and_told(tmp_path: Path, face_at: int):
    films = [SCREEN, SCREEN]
    films[face_at] = [astronaut(256)] * 50
    write_two_videos(tmp_path / "a.mp4", *films)
    told: list[str] = []
    session = Session("s", (Turn(0, "ann", "x", 0.0, 2.0),), (), (Media("ann", "video", "a.mp4"),))
    rows = extract_session(session, tmp_path, SETTINGS, told.append)[1].to_pylist()
    assert {row["feature"]: row["coverage"] for row in rows}["smile"] > 0.9
    assert told == [
        f"a.mp4: 2 videos in one file: {face_at} is taken, a face is seen in it for 2.0 s (0.0 s in {1 - face_at}). "
        "Where another is meant, give it a file of its own."
    ]


def test_where_no_face_is_seen_the_first_is_taken(tmp_path: Path):
    write_two_videos(tmp_path / "a.mp4", SCREEN, SCREEN)
    told: list[str] = []
    watch(tmp_path, [Media("ann", "video", "a.mp4")], SETTINGS, {}, None, told.append)
    assert told[0].startswith("a.mp4: 2 videos in one file: 0 is taken, a face is seen in it for 0.0 s (0.0 s in 1).")
