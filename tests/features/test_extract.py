import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from apportion.corpus.schema import EVENTS, FRAMES, UTTERANCE_FEATURES
from apportion.corpus.session import Media, Rating, Session, Turn
from apportion.features.extract import extract_session
from apportion.features.registry import EMOTIONS, FEATURES
from apportion.features.settings import DescriptorSettings, FeatureSettings
from apportion.features.verbalization.verbalize import describe_session
from apportion.foundation.errors import UnitError
from tests.features.clips import astronaut, flat, moving, tone, wave, write_movie, write_wav
from tests.features.tracks import names_on
from tests.shared import shared

SETTINGS = FeatureSettings()
Cell = tuple[float | None, float]


def _session(media: list[Media], *turns: tuple[str, float, float]) -> Session:
    return Session("s", tuple(Turn(i, who, "x", a, b) for i, (who, a, b) in enumerate(turns)), (), tuple(media))


def _cells(table: pa.Table) -> dict[tuple[int, str, str, str], Cell]:
    return {(r["turn"], r["person"], r["window"], r["feature"]): (r["mean"], r["coverage"]) for r in table.to_pylist()}


def _bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def test_no_media_no_rows(tmp_path: Path):
    frames, means, events = extract_session(_session([], ("ann", 0, 1)), tmp_path, SETTINGS)
    assert (frames.num_rows, means.num_rows, events.num_rows) == (0, 0, 0)
    assert events.schema.equals(EVENTS.arrow)
    assert frames.schema.equals(FRAMES.arrow)
    assert means.schema.equals(UTTERANCE_FEATURES.arrow)


def test_voices_of_two_channels_and_the_session_clock(tmp_path: Path):
    silent = np.zeros(16000)
    left = np.concatenate([tone(2.0, 120.0), silent, silent])
    right = np.concatenate([silent, silent, tone(2.0, 220.0)])
    write_wav(tmp_path / "a.wav", np.stack([left, right]))
    media = [Media("ann", "audio", "a.wav", 10.0, "L"), Media("bob", "audio", "a.wav", 10.0, "R")]
    session = _session(media, ("ann", 10.0, 11.9), ("bob", 12.0, 14.0), ("ann", 13.0, 15.0))
    frames, means, events = extract_session(session, tmp_path, SETTINGS)
    cells = _cells(means)
    assert cells[0, "ann", "during", "f0_hz"] == (pytest.approx(120, abs=1), pytest.approx(0.98, abs=0.03))
    assert cells[0, "bob", "during", "f0_hz"] == (None, 0.0)
    assert cells[0, "bob", "reply", "f0_hz"] == (pytest.approx(220, abs=2), pytest.approx(0.98, abs=0.03))
    assert cells[1, "ann", "reply", "f0_hz"][0] is None
    # Turn 2 ends a second after the recording: half of it was recorded.
    assert cells[2, "ann", "during", "log_energy_db"] == (None, 0.0)
    assert cells[2, "bob", "during", "f0_hz"][1] == pytest.approx(0.5, abs=0.03)
    assert {key[3] for key in cells} == set(names_on("voice")) - {"jitter_disvoice"} | {
        *names_on("talk"),
        *names_on("laughter"),
    }
    assert (cells[2, "ann", "during", "overlaps"], cells[2, "bob", "during", "overlaps"]) == ((1.0, 1.0), (0.0, 1.0))
    assert [tuple(row.values())[1:5] for row in events.to_pylist()] == [("ann", "overlap", 13.0, 14.0)]
    # The table stays small: about ten rows a second of each person and feature, in 6 s.
    assert frames.num_rows <= 2 * 3 * (10 * 6 + 1)
    times = [r["time_s"] for r in frames.to_pylist() if r["person"] == "ann" and r["feature"] == "f0_hz"]
    assert min(times) == pytest.approx(10.05, abs=0.051)
    assert max(times) == pytest.approx(11.95, abs=0.051)


def test_a_shared_microphone_is_a_persons_voice_only_in_their_own_turns(tmp_path: Path):
    write_wav(tmp_path / "a.wav", np.concatenate([tone(2.0, 120.0), tone(2.0, 220.0)]))
    media = [Media("ann", "audio", "a.wav"), Media("bob", "audio", "a.wav", 0.0, "L")]
    session = _session(media, ("ann", 0.0, 2.0), ("bob", 2.0, 4.0))
    cells = _cells(extract_session(session, tmp_path, SETTINGS)[1])
    assert cells[0, "bob", "during", "f0_hz"] == (None, 0.0)
    assert cells[0, "ann", "during", "f0_hz"][0] == pytest.approx(120, abs=1)
    assert cells[0, "bob", "reply", "f0_hz"][0] == pytest.approx(220, abs=2)


def test_order_and_bytes_do_not_depend_on_scores_or_the_order_of_the_media(tmp_path: Path):
    write_movie(tmp_path / "a.mp4", [flat()] * 50, sound=tone(2.0))
    write_wav(tmp_path / "b.wav", tone(2.0, 200.0))
    media = [Media("bob", "audio", "b.wav"), Media("ann", "video", "a.mp4")]
    turns = [("ann", 0.0, 0.9), ("bob", 1.0, 1.9)]
    one = extract_session(_session(media, *turns), tmp_path, SETTINGS)
    scored = replace(_session(media[::-1], *turns), ratings=(Rating("ann", "bob", "x", 5.0, 1, 5),))
    two = extract_session(scored, tmp_path, SETTINGS)
    assert [_bytes(t) for t in one] == [_bytes(t) for t in two]
    keys = [(r["turn"], r["person"], r["window"], list(FEATURES).index(r["feature"])) for r in one[1].to_pylist()]
    assert keys == sorted(keys)
    assert len(keys) == len(set(keys))


def test_a_movies_own_sound_is_used_only_without_an_audio_row(tmp_path: Path):
    write_movie(tmp_path / "a.mp4", [flat()] * 50, sound=tone(2.0, 120.0))
    write_wav(tmp_path / "a.wav", tone(2.0, 240.0))
    video, audio = Media("ann", "video", "a.mp4"), Media("ann", "audio", "a.wav")
    for media, pitch in (([video], 120.0), ([video, audio], 240.0)):
        cells = _cells(extract_session(_session(media, ("ann", 0.2, 1.8)), tmp_path, SETTINGS)[1])
        assert cells[0, "ann", "during", "f0_hz"][0] == pytest.approx(pitch, abs=2)
        assert cells[0, "ann", "during", "smile"] == (None, 0.0)


def test_planted_nods_and_shakes_are_counted_where_they_were(tmp_path: Path):
    times = np.arange(0.0, 12.0, 1 / 25)
    height = 50  # of the face, pixels

    def place(t: float) -> tuple[float, float]:
        return wave(t, 8.5, 3, 1.5, 0.12 * height), wave(t, 2.5, 3, 1.5, 0.12 * height)

    write_movie(tmp_path / "a.mp4", moving(astronaut(256), place, times.tolist()))
    turns = [("ann" if i % 2 else "bob", 2.0 * i, 2.0 * i + 2) for i in range(6)]
    frames, means, _ = extract_session(_session([Media("ann", "video", "a.mp4")], *turns), tmp_path, SETTINGS)
    cells = _cells(means)
    assert [cells[i, "ann", "during", "nod_yes"][0] for i in range(6)] == [0, 1, 0, 0, 0, 0]
    assert [cells[i, "ann", "during", "nod_no"][0] for i in range(6)] == [0, 0, 0, 0, 1, 0]
    for name in ("nod_yes", "nod_no"):
        for turn in range(6):
            count, coverage = cells[turn, "ann", "during", name]
            assert cells[turn, "ann", "during", f"{name}_per_min"] == (
                pytest.approx(count * 60 / (2.0 * coverage)),
                coverage,
            )
    untold = {
        "gaze_border",
        "eyes_aside",
        "eyes_lowered",
        "eyes_closed",
        "eyes_down_or_closed",
        "blinks_per_min",
        "frown",
        "brow_raise",
        "mouth_open",
        "smile_strength",
        "nod_single",
        *EMOTIONS,
    }  # by haar, and without a model
    assert min(coverage for key, (_, coverage) in cells.items() if key[3] not in untold) > 0.95
    assert {cell for key, cell in cells.items() if key[3] in untold} == {(None, 0.0)}
    nodding = [r["time_s"] for r in frames.to_pylist() if r["feature"] == "nod_yes" and r["value"] == 1.0]
    assert min(nodding) > 2.3
    assert max(nodding) < 4.9


@pytest.mark.parametrize(
    ("kind", "write", "message"),
    [
        (
            "audio",
            lambda p: write_movie(p, [flat()] * 5),
            r"a\.mp4: no sound .* ann's audio \(it holds video",
        ),
        ("video", lambda p: write_wav(p, tone(1.0)), r"a\.mp4: no picture in the file .*\(it holds audio \(pcm_f32le"),
        ("video", lambda p: p.write_bytes(b""), r"a\.mp4: the file is empty"),
        ("video", lambda p: p.write_bytes(os.urandom(4096)), r"a\.mp4: cannot be opened as a recording"),
        ("film", lambda p: p.touch(), r"kind 'film' of ann's recording is not known. Allowed .* audio, video"),
    ],
)
def test_a_recording_that_cannot_be_used_names_session_file_and_cause(tmp_path: Path, kind, write, message):
    write(tmp_path / "a.mp4")
    with pytest.raises(UnitError, match=f"^session s: .*{message}"):
        extract_session(_session([Media("ann", kind, "a.mp4")], ("ann", 0, 1)), tmp_path, SETTINGS)


def test_films_without_a_face_or_that_begin_late_cover_only_what_they_show():
    path = shared("media/no_face.mp4")
    session = _session([Media("ann", "video", path.name)], ("ann", 0, 3.9))
    cells = _cells(extract_session(session, path.parent, SETTINGS)[1])
    assert cells[0, "ann", "during", "smile"] == cells[0, "ann", "during", "nod_yes"] == (None, 0.0)
    assert cells[0, "ann", "during", "nod_yes_per_min"] == (None, 0.0)
    assert cells[0, "ann", "during", "intensity_db"][1] > 0.9
    path = shared("media/face_noface.mov")
    session = _session([Media("ann", "video", path.name, 100.0)], ("ann", 100.0, 102.0), ("ann", 104.5, 106.0))
    cells = _cells(extract_session(session, path.parent, SETTINGS)[1])
    assert cells[0, "ann", "during", "smile"][1] > 0.95  # the face is there for the first 2.3 s
    assert cells[1, "ann", "during", "smile"][1] == 0.0
    assert cells[0, "ann", "during", "log_energy_db"] == (None, 0.0)  # the sound begins at 2.43 s
    assert cells[1, "ann", "during", "log_energy_db"][1] > 0.95


def test_memory_does_not_grow_with_the_pictures(tmp_path: Path):
    import tracemalloc

    peaks = []
    for count in (100, 400):
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            write_movie(Path(folder) / "a.mp4", [flat(width=320, height=240)] * count)
            session = _session([Media("ann", "video", "a.mp4")], ("ann", 0, 4))
            tracemalloc.start()
            extract_session(session, Path(folder), SETTINGS)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] - peaks[0] < 320 * 240 * 30  # 120 more pictures were looked at; fewer than 30 would fit


def test_emotions_of_a_face_are_the_models_and_come_twice_a_second(tmp_path: Path):
    onnx_models = pytest.importorskip("tests.features.emotion_models", reason="onnx is in the dev extra")
    picture = np.full((256, 256), 0, dtype=np.uint8)
    picture[:] = astronaut(256)
    write_movie(tmp_path / "a.mp4", [picture] * 75)
    model = onnx_models.small_model(tmp_path / "tiny.onnx")
    settings = FeatureSettings(emotion_model=str(model))
    session = _session([Media("ann", "video", "a.mp4")], ("bob", 0.0, 1.5), ("ann", 1.5, 3.0))
    frames, means, _ = extract_session(session, tmp_path, settings)
    cells = _cells(means)
    told = {name: cells[0, "ann", "during", name] for name in EMOTIONS}
    assert sum(mean for mean, _ in told.values()) == pytest.approx(1.0, abs=1e-5)
    assert [coverage for _, coverage in told.values()] == pytest.approx([1.0] * 8)
    rows = [row for row in frames.to_pylist() if row["feature"] == "anger"]
    assert [row["time_s"] for row in rows] == pytest.approx([0.0, 0.52, 1.0, 1.52, 2.0, 2.52], abs=0.03)
    # A grey face of mean level m gives the model's answer for that colour.
    by_level = [onnx_models.softmax(onnx_models.logits((level,) * 3)[:8])[0] for level in range(110, 180)]
    assert min(by_level) <= rows[0]["value"] <= max(by_level)


def test_what_came_measured_with_the_corpus_stands_in_place_of_our_own(tmp_path: Path):
    write_movie(tmp_path / "a.mp4", [astronaut(256)] * 50)
    header = "timedelta,user_id,is_speaking,gaze_on,intensity," + ",".join(f"prob_face_{e}" for e in EMOTIONS)
    lines = [f"00:00:0{s},ann,True,0.25,60,0.3,0,0,0,0.7,0,0,0" for s in range(2)]
    (tmp_path / "avf.csv").write_text("\n".join([header, *lines]) + "\n")
    media = [Media("ann", "video", "a.mp4"), Media("ann", "features", "avf.csv")]
    frames, means, _ = extract_session(_session(media, ("bob", 0.0, 2.0)), tmp_path, SETTINGS)
    cells = _cells(means)
    assert cells[0, "ann", "during", "happiness"] == (pytest.approx(0.7), 1.0)
    assert cells[0, "ann", "during", "gaze_on_screen"] == (pytest.approx(0.25), 1.0)
    assert cells[0, "ann", "during", "smile"][1] > 0.9  # what the file lacks is still measured
    assert {row["value"] for row in frames.to_pylist() if row["feature"] == "happiness"} == {0.7}
    # What the corpus's authors do not explain is kept among the frames, and is no feature.
    assert {row["value"] for row in frames.to_pylist() if row["feature"] == "intensity_precomputed"} == {60.0}
    assert {key[3] for key in cells} <= set(FEATURES)


def test_precomputed_features_alone_are_enough(tmp_path: Path):
    (tmp_path / "avf.csv").write_text("timedelta,user_id,gaze_on\n00:00:00,ann,1\n00:00:01,ann,0\n")
    media = [Media("ann", "features", "avf.csv")]
    _, means, _ = extract_session(_session(media, ("bob", 0.0, 2.0)), tmp_path, SETTINGS)
    none = {(0, "ann", "during", name): (0.0, 1.0) for name in names_on("talk")}
    assert _cells(means) == {(0, "ann", "during", "gaze_on_screen"): (0.5, 1.0), **none}
    (tmp_path / "avf.csv").write_text("timedelta,user_id,gaze_on\n00:00:00,ann,7\n")
    with pytest.raises(UnitError, match=r"session s: .*avf\.csv.*gaze_on"):
        extract_session(_session(media, ("bob", 0.0, 2.0)), tmp_path, SETTINGS)


class Flickering:
    """A detector that sees the face every second time that it is asked."""

    steady = False

    def __init__(self) -> None:
        self.asked = 0

    def find(self, picture, small, near):
        from apportion.features.face.face import Face

        self.asked += 1
        return [Face(90.0, 20.0, 120.0)] if self.asked % 2 else []


def test_a_flickering_detector_leaves_what_it_confirmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_movie(tmp_path / "a.mp4", [astronaut(320)] * 250)
    monkeypatch.setattr("apportion.features.face.face_features.open_detector", lambda settings: Flickering())
    media = [Media("ann", "video", "a.mp4")]
    cells = _cells(extract_session(_session(media, ("bob", 0.0, 10.0)), tmp_path, SETTINGS)[1])
    assert cells[0, "ann", "during", "nod_yes"][1] > 0.95
    # Every second picture at which it was asked (twice a second) counts: one of ten.
    assert 0.08 < cells[0, "ann", "during", "smile"][1] < 0.2


@pytest.mark.parametrize(
    ("fps", "changes"), [(2, {}), (3, {}), (10, {"expression_rate_hz": 60.0, "video_rate_hz": 60.0})]
)
def test_fewer_pictures_than_asked_for_are_still_all_of_the_time(tmp_path: Path, fps: int, changes: dict):
    write_movie(tmp_path / "a.mp4", [astronaut(256)] * (8 * fps), fps=fps)
    settings = SETTINGS.model_copy(update=changes)
    media = [Media("ann", "video", "a.mp4")]
    cells = _cells(extract_session(_session(media, ("bob", 0.0, 8.0)), tmp_path, settings)[1])
    assert cells[0, "ann", "during", "nod_yes"][1] > 0.9
    assert cells[0, "ann", "during", "smile"][1] > 0.9
    assert cells[0, "ann", "during", "gaze_on_screen"][1] > 0.9


def test_a_recording_that_may_not_be_read_is_its_own_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_wav(tmp_path / "a.wav", tone(1.0))

    def refuse(self: Path, *arguments: object, **named: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UnitError, match=r"a\.wav: cannot be read \(Permission denied\)"):
        extract_session(_session([Media("ann", "audio", "a.wav")], ("ann", 0.0, 1.0)), tmp_path, SETTINGS)


def test_features_of_another_program_have_coverage_and_words_as_ours(tmp_path):
    rows = [f"{0.04 * i:.2f},{int(not 150 <= i < 175)},{int(i >= 200)},0" for i in range(300)]
    (tmp_path / "ann.csv").write_text("timestamp,success,AU12_c,gaze_angle_x\n" + "\n".join(rows))
    turns = tuple(Turn(i, "bob" if i % 2 == 0 else "ann", "x", 2.0 * i, 2.0 * i + 2.0) for i in range(6))
    rating = (Rating("ann", "bob", "r", 1.0, 0.0, 1.0),)
    session = Session("s", turns, rating, (Media("ann", "features", "ann.csv", 0.0, "openface"),))
    frames, means, _ = extract_session(session, tmp_path, FeatureSettings())
    cells = {
        (r["turn"], r["feature"]): (r["mean"], r["coverage"]) for r in means.to_pylist() if r["window"] == "during"
    }
    assert cells[0, "smile"] == (pytest.approx(0.0), pytest.approx(1.0))
    assert cells[3, "smile"] == (pytest.approx(0.0), pytest.approx(0.5))
    assert cells[4, "smile"] == (pytest.approx(1.0), pytest.approx(1.0))
    assert set(frames["feature"].to_pylist()) == {"smile", "gaze_on_screen"}
    told = describe_session(session, means, DescriptorSettings())
    texts = {(r["turn"], r["window"]): r["text"] for r in told.to_pylist()}
    assert texts[4, "during"] == "smiles most of the time, more than usual"
    assert texts[0, "during"] == "as usual"
