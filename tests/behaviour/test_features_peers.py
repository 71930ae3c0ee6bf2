import gc
import resource
import shutil
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from apportion.corpus.session import Media, Rating, Session, Turn
from apportion.demo.builders.planting import Planted
from apportion.demo.builders.tables import to_corpus
from apportion.features.extract import extract_session
from apportion.features.settings import FeatureSettings
from tests.behaviour.command import config, in_process
from tests.behaviour.test_planted_truth import events, frames_of
from tests.features.clips import astronaut, flat, write_movie
from tests.features.planted import Clip, happenings, spans, write_clip
from tests.shared import shared

SETTINGS = FeatureSettings(emotion_model="none")
TURNS = (Turn(0, "ann", "one", 0.0, 1.0), Turn(1, "bob", "two", 1.0, 2.0), Turn(2, "ann", "three", 2.0, 3.0))


def film_session(name: str, path: str, score: float) -> Session:
    rating = Rating("bob", "ann", "liking", score, 1.0, 5.0, True)
    return Session(name, TURNS, (rating,), (Media("bob", "video", path),))


@pytest.fixture(scope="module")
def films(tmp_path_factory) -> Path:
    """A folder with four sessions: two with a face, one without, one whose recording is damaged; and their features."""
    folder = tmp_path_factory.mktemp("films")
    corpus = folder / "corpus"
    (corpus / "media").mkdir(parents=True)
    for name, picture in (("face", astronaut(256)), ("again", astronaut(256)), ("empty", flat(90, 256, 256))):
        write_movie(corpus / "media" / f"{name}.mp4", [picture] * 75)
    whole = (corpus / "media" / "face.mp4").read_bytes()
    (corpus / "media" / "cut.mp4").write_bytes(whole[: len(whole) // 3])
    sessions = [film_session(name, f"media/{name}.mp4", score) for score, name in enumerate(
        ("again", "cut", "empty", "face"), start=1)]  # fmt: skip
    to_corpus([Planted(session, "film", {}) for session in sessions], corpus).write(corpus)
    with pytest.MonkeyPatch.context() as patch:
        done = in_process(patch, "run", "--only", "features", config(folder, 'corpus = "corpus"\noutput = "run"\n'))
    assert done.returncode == 1 and "cut" in done.stderr + done.stdout
    return folder


@pytest.mark.slow
def test_a_variable_frame_rate_does_not_shift_events(tmp_path):
    # OpenFace#304, opencv#12112: time = frame number / rate.
    clip = Clip("v", 40, fps=25.0, variable=True)
    found = events(frames_of(write_clip(clip, tmp_path), SETTINGS), "nod_yes")
    for start_s, end_s in spans(happenings(clip), "nod_yes"):
        nearest = min(found, key=lambda span: abs(span[0] - start_s))
        assert nearest[0] == pytest.approx(start_s, abs=0.5)
        assert nearest[1] == pytest.approx(end_s, abs=0.5)


def test_a_film_without_a_face_leaves_the_others_aligned(films):
    # CMU-MultimodalSDK#59: one video without features shifts all that follow.
    table = pq.read_table(films / "run" / "utterance_features.parquet")
    rows = {
        name: [
            (row["turn"], row["window"], row["feature"])
            for row in table.filter(pc.field("session_id") == name).to_pylist()
        ]
        for name in ("again", "empty", "face")
    }
    assert rows["face"] == rows["again"] == rows["empty"] != []
    means = table.filter((pc.field("session_id") == "empty") & (pc.field("feature") == "smile"))
    assert set(means["mean"].to_pylist()) == {None}
    assert set(means["coverage"].to_pylist()) == {0.0}


def test_a_finished_session_is_not_measured_again(films, monkeypatch):
    # No peer resumes a corpus.
    made = {path: path.stat().st_mtime_ns for path in (films / "run" / "store" / "features").rglob("*.parquet")}
    again = in_process(monkeypatch, "run", "--only", "features", films / "config.toml")
    assert made and again.returncode == 1
    assert {path: path.stat().st_mtime_ns for path in made} == made


@pytest.mark.slow
def test_a_face_keeps_its_identity_while_others_come_and_go(tmp_path):
    # OpenFace#804: the id jumps to another face.
    clip = Clip("two", 70, (480, 270), fps=15.0, second=True)
    frames = frames_of(write_clip(clip, tmp_path), SETTINGS)
    x = frames.filter(pc.field("feature") == "head_x")["value"].to_numpy()
    assert np.abs(np.diff(x)).max() < 0.5  # in face heights: no jump to the other person


def test_memory_is_given_back(tmp_path):
    # mediapipe#6152, py-feat#244: memory grows from file to file.
    write_movie(tmp_path / "a.mp4", [astronaut(256)] * 100)
    session = Session("s", TURNS, (), (Media("bob", "video", "a.mp4"),))
    for _ in range(2):
        extract_session(session, tmp_path, SETTINGS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(6):
        extract_session(session, tmp_path, SETTINGS)
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * 1024  # KiB; one run's pictures are 20 MiB


def test_time_stamps_of_a_real_late_video_are_kept():
    # A video that begins 0.85 s after its sound: frame number / rate is wrong by that all the way.
    path = shared("media/short_hamilton_clip.mp4")
    frames = frames_of(path, SETTINGS)
    seen = frames.filter(pc.field("feature").isin(["nod_yes", "smile", "head_x"]))["time_s"].to_numpy()
    heard = frames.filter(pc.field("feature") == "log_energy_db")["time_s"].to_numpy()
    assert heard.min() < 0.2 < 0.8 < seen.min()


def test_figures_of_a_session_that_failed_since_are_no_longer_published(films, tmp_path, monkeypatch):
    # A run folder that shows last week's measurement of a recording that cannot be read today misleads.
    shutil.copytree(films, tmp_path, dirs_exist_ok=True)
    frames = tmp_path / "run" / "frames"
    assert sorted(path.name for path in frames.iterdir()) == ["again.parquet", "empty.parquet", "face.parquet"]
    (tmp_path / "corpus" / "media" / "face.mp4").write_bytes(b"")
    in_process(monkeypatch, "run", "--only", "features", tmp_path / "config.toml")
    assert sorted(path.name for path in frames.iterdir()) == ["again.parquet", "empty.parquet"]
