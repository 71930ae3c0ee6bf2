"""What `probe` measures in one file, and that it is what the pipeline measures."""

from __future__ import annotations

import io
import json
import warnings
import wave as wave_file
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from apportion.corpus.session import Media, Session, Turn
from apportion.features.extract import extract_session
from apportion.features.face.nods import HeadEvents
from apportion.features.probe.picture import PANELS, draw_probe
from apportion.features.probe.probe import Figure, Probe, probe, render
from apportion.features.registry import EMOTIONS
from apportion.features.settings import FeatureSettings
from apportion.foundation.errors import InputError
from tests.features.clips import astronaut, flat, moving, tone, wave, write_movie, write_tracks, write_wav
from tests.features.tracks import names_on
from tests.shared import shared

PLAIN = FeatureSettings(detector="haar", emotion_model="none", pitch_floor_hz=75.0, pitch_ceiling_hz=500.0)


def means(probed: Probe) -> dict[str, float | None]:
    return {figure.feature: figure.mean for figure in probed.figures}


def figures(probed: Probe) -> dict[str, tuple[float | None, float]]:
    return {figure.feature: (figure.mean, figure.coverage) for figure in probed.figures}


def pipeline(root: Path, start_s: float, end_s: float, *media: Media) -> dict[str, tuple[float | None, float]]:
    """What `apportion run --only features` gives one utterance of that length, without what only talk tells."""
    session = Session("s", (Turn(0, media[0].speaker, "x", start_s, end_s),), media=media)
    rows = extract_session(session, root, PLAIN)[1].to_pylist()
    wanted = [row for row in rows if row["window"] == "during" and row["feature"] not in names_on("talk")]
    return {row["feature"]: (row["mean"], row["coverage"]) for row in wanted}


@pytest.fixture
def voice(tmp_path: Path) -> Path:
    return write_wav(tmp_path / "voice.wav", np.concatenate([tone(1.0, 150), tone(1.0, 220)]))


@pytest.fixture(scope="module")
def nodding(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight seconds: nods around 3 s, shakes around 6 s."""
    times = [i / 25 for i in range(200)]
    pictures = moving(astronaut(256), lambda t: (wave(t, 5.4, 3, 2.0, 8.0), wave(t, 2.4, 3, 2.0, 8.0)), times)
    return write_movie(tmp_path_factory.mktemp("probe") / "nod.mp4", pictures, sound=tone(8.0, 150))


@pytest.fixture(scope="module")
def probed(nodding: Path) -> Probe:
    return probe(nodding, PLAIN)


# Figures


@pytest.mark.slow
def test_the_figures_of_the_reference_recording():
    probed = probe(shared("media/pyannote_sample.wav"), FeatureSettings())
    assert means(probed)["f0_hz"] == pytest.approx(198.10, abs=0.05)
    assert means(probed)["jitter_local"] == pytest.approx(0.01241, abs=0.0001)
    assert (probed.start_s, probed.end_s, probed.holds) == (0.0, 30.0, "audio (pcm_s16le)")
    assert probed.emotion_model is None and probed.notes == () and probed.nods == {}


def test_an_end_beyond_the_file_is_the_files_end(voice: Path):
    assert figures(probe(voice, PLAIN, 0.3, 1.4)) == pipeline(voice.parent, 0.3, 1.4, Media("p", "audio", "voice.wav"))
    probed = probe(voice, PLAIN, 0.0, 99.0)
    assert probed.end_s == 2.0
    assert probed.notes == ("the recording ends at 2.00 s",)


def test_a_whole_film_has_the_figures_of_the_pipeline(nodding: Path, probed: Probe):
    assert probed.end_s == pytest.approx(8.0, abs=0.1)
    expected = pipeline(nodding.parent, 0.0, probed.end_s, Media("p", "video", "nod.mp4"))
    assert figures(probed) == expected
    assert names_on("face") <= set(expected)


def test_nods_and_shakes_are_counted_where_they_are(nodding: Path, probed: Probe):
    assert (means(probed)["nod_yes"], means(probed)["nod_no"]) == (1.0, 1.0)
    told = probed.to_json()["events"]
    assert told["nod_yes"]["count"] == 1
    assert told["nod_yes"]["per_minute"] == pytest.approx(60 / 8, rel=0.1)
    assert 2.3 < told["nod_yes"]["at"][0]["start_s"] < told["nod_yes"]["at"][0]["end_s"] < 4.2
    assert 5.3 < told["nod_no"]["at"][0]["start_s"] < told["nod_no"]["at"][0]["end_s"] < 7.2
    part = probe(nodding, PLAIN, 4.5)
    assert {name: len(spans) for name, spans in part.nods.items()} == {"nod_yes": 0, "nod_no": 1}
    assert (means(part)["nod_yes"], means(part)["nod_no"]) == (0.0, 1.0)


def test_pictures_are_not_decoded_far_beyond_the_end(tmp_path: Path):
    path = write_movie(tmp_path / "long.mp4", [flat()] * 750)
    seen: list[float] = []
    short = probe(path, PLAIN, 1.0, 2.0, progress=lambda done_s, total_s: seen.append(done_s))
    assert 2.0 < max(seen) < 8.0
    assert any("gaze is judged by the pictures up to" in note for note in short.notes)
    whole = probe(path, PLAIN, progress=lambda done_s, total_s: seen.append(done_s))
    assert max(seen) > 29.0
    assert all("a face is seen in 0 %" in note for note in whole.notes)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(0, 1.9), st.floats(0.01, 3.0))
def test_any_window_within_is_reported_as_asked(voice: Path, start_s: float, length_s: float):
    probed = probe(voice, PLAIN, start_s, start_s + length_s)
    assert probed.start_s == start_s
    assert probed.end_s == min(start_s + length_s, 2.0)
    assert all(0.0 <= figure.coverage <= 1.0 for figure in probed.figures)
    assert all((figure.mean is None) == (figure.coverage == 0.0) for figure in probed.figures)
    for series in probed.series.values():
        assert ((series.times_s >= probed.start_s) & (series.times_s < probed.end_s)).all()
    json.dumps(probed.to_json(), allow_nan=False)


@pytest.mark.parametrize("name", ["a.mkv", "a.mov", "a.ts"])
def test_a_film_whose_clock_begins_late_is_told_on_its_clock(tmp_path: Path, name: str):
    path = write_movie(tmp_path / name, [flat()] * 50, times_s=[30 + i / 25 for i in range(50)])
    lenient = FeatureSettings(emotion_model="none", missing_tolerance_s=60.0)
    end_s = 2.0 if name == "a.ts" else 32.0
    assert probe(path, lenient).end_s == pytest.approx(end_s, abs=0.1)
    with pytest.raises(InputError) as told:
        probe(path, lenient, 70.0)
    assert float(str(told.value).split(" ends at ")[1].split()[0]) == pytest.approx(end_s, abs=0.1)


def test_without_an_emotion_model_a_film_says_so_once(tmp_path: Path):
    path = write_movie(tmp_path / "a.mp4", [flat()] * 25)
    assert [note for note in probe(path, FeatureSettings()).notes if "emotion" in note] == [
        "no emotion model: get one with `apportion models fetch mesh` or `apportion models fetch emotion`"
    ]
    assert not any("emotion" in note for note in probe(path, PLAIN).notes)


def test_an_emotion_model_is_used(tmp_path: Path):
    onnx_models = pytest.importorskip("tests.features.emotion_models", reason="onnx is in the dev extra")
    path = write_movie(tmp_path / "a.mp4", [astronaut(256)] * 50)
    model = onnx_models.small_model(tmp_path / "tiny.onnx")
    probed = probe(path, FeatureSettings(emotion_model=str(model)))
    assert probed.emotion_model == str(model)
    assert sum(means(probed)[name] for name in EMOTIONS) == pytest.approx(1.0, abs=1e-5)
    assert draw_probe(probed)


# Channels


def test_half_a_picture_has_its_own_person_and_no_sound_unless_named(tmp_path: Path):
    both = np.concatenate([astronaut(256), flat(width=256, height=256)], axis=1)
    path = write_movie(tmp_path / "both.mp4", [both] * 50, sound=tone(2.0, 150))
    left, right = (probe(path, PLAIN, channels=(half,)) for half in ("left", "right"))
    assert (figures(left)["smile"][1] > 0.9, figures(right)["smile"]) == (True, (None, 0.0))
    assert "f0_hz" not in means(left)
    assert any("everybody's" in note for note in left.notes)
    told = probe(path, PLAIN, channels=("left", "L"))
    assert means(told)["f0_hz"] == pytest.approx(150, rel=0.01)
    assert told.notes == ()


@pytest.mark.parametrize(
    ("channels", "message"),
    [
        (("x",), "'x': allowed are L, R or a number from 0"),
        (("R",), r"does not have it\. Channels of its sound: 0 "),
        (("left",), "no picture to halve"),
        (("L", "R"), "at most one channel"),
    ],
)
def test_channels_that_are_not_there(voice: Path, channels, message):
    with pytest.raises(InputError, match=message):
        probe(voice, PLAIN, channels=channels)


# Files that cannot be used


def _data(path: Path) -> Path:
    with av.open(str(path), "w") as container:
        packet = av.Packet(b"hello")
        packet.stream, packet.time_base = container.add_data_stream(), Fraction(1, 1000)
        packet.pts, packet.dts, packet.duration = 0, 0, 900
        container.mux(packet)
    return path


def test_files_that_cannot_be_used(tmp_path: Path, voice: Path):
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "text.mp4").write_text("hello")
    (tmp_path / "loop.wav").symlink_to("loop.wav")
    with wave_file.open(str(tmp_path / "none.wav"), "wb") as none:
        none.setparams((1, 2, 16000, 0, "NONE", "NONE"))
    _data(tmp_path / "data.ts")
    (tmp_path / "cut.wav").write_bytes(voice.read_bytes()[:20_000])
    for name, message in (
        ("gone.wav", "no such file"),
        ("", "is a folder.*apportion import media"),
        ("loop.wav", "loop"),
        ("empty.mp4", "the file is empty"),
        ("text.mp4", "cannot be opened as a recording"),
        ("data.ts", "neither sound nor pictures in the file .it holds nothing that can be decoded"),
        ("none.wav", "nothing in it could be decoded"),
        ("cut.wav", "cut short"),
    ):
        with pytest.raises(InputError, match=message):
            probe(tmp_path / name, PLAIN)
    with pytest.raises(InputError, match="not a regular file"):
        probe(Path("/dev/null"), PLAIN)


@pytest.mark.parametrize(
    ("start_s", "end_s", "message"),
    [
        (-1.0, None, "0 or more"),
        (float("nan"), None, "0 or more"),
        (1.0, 1.0, "must be later than start = 1 s"),
        (0.0, float("inf"), "Leave it out"),
        (2.0, None, r"ends at 2\.00 s"),
    ],
)
def test_windows_that_are_none(voice: Path, start_s, end_s, message):
    with pytest.raises(InputError, match=message):
        probe(voice, PLAIN, start_s, end_s)


# The picture


def _pixels(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB"), dtype=int)


def test_a_panel_a_feature_with_nods_shaded_where_they_are(voice: Path, probed: Probe):
    sound, film = draw_probe(probe(voice, PLAIN)), draw_probe(probed)
    assert sound[:8] == film[:8] == b"\x89PNG\r\n\x1a\n"
    assert _pixels(film).shape[0] > 1.8 * _pixels(sound).shape[0]
    assert _pixels(film).shape[1] == _pixels(sound).shape[1]
    assert len(PANELS) == len({panel.title for panel in PANELS})
    # Pale blue and pale orange occur nowhere else in the head's panel; columns are time.
    pixels = _pixels(film)
    blue = np.flatnonzero((np.abs(pixels - (214, 232, 243)).max(axis=2) < 4).sum(axis=0) > 40)
    assert len(blue)
    share = blue / pixels.shape[1]
    assert 2.0 / 8 < share.min() < share.max() < 4.6 / 8


def test_the_same_figures_give_the_same_bytes_whatever_the_users_style(
    voice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import matplotlib

    probed = probe(voice, PLAIN)
    plain = draw_probe(probed)
    with matplotlib.rc_context({"figure.facecolor": "black", "font.size": 30}):
        assert draw_probe(probed) == plain
    assert draw_probe(probed) == plain


def test_names_are_shown_as_they_are(tmp_path: Path, voice: Path):
    for name in ("a$x_{b}$\\frac{ zwei\nZeilen\x1b[31m 会議.wav", "n" * 200 + ".wav"):
        path = tmp_path / name
        path.write_bytes(voice.read_bytes())
        probed = probe(path, PLAIN)
        assert probed.shown_name.isprintable()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert draw_probe(probed)


def test_a_film_in_which_nothing_is_seen_is_drawn(tmp_path: Path):
    path = write_movie(tmp_path / "a.mp4", [flat()] * 25)
    probed = probe(path, PLAIN)
    assert set(means(probed).values()) == {None}
    assert draw_probe(probed)
    with pytest.raises(InputError, match="it has no sound"):
        probe(path, PLAIN, channels=("L",))


def test_a_line_a_feature_with_the_digits_of_its_unit_and_when_there_were_nods():
    figures = (
        Figure("f0_hz", 150.126, 0.5, "Hz"),
        Figure("smile", None, 0.0, "of the time"),
        Figure("nod_yes", 1.0, 1.0, "nods"),
        Figure("happiness", 0.2, 1.0, "probability"),
    )
    events = HeadEvents(((0.5, 1.25),), ())
    probe = Probe("a\x1b.mp4", "video", 0.0, 2.0, figures, {}, events, FeatureSettings(), None, ("be careful",))
    assert render(probe).splitlines() == [
        "a\N{REPLACEMENT CHARACTER}.mp4: video, from 0.00 to 2.00 s",
        "",
        "feature                mean  unit         coverage",
        "f0_hz                150.13  Hz             50.0%",
        "smile                     -  of the time     0.0%",
        "nod_yes                   1  nods          100.0%",
        "nod_yes at 0.50 to 1.25 s",
        "",
        "note: be careful",
    ]


def test_one_of_several_sound_tracks_is_asked_for(tmp_path: Path):
    path = write_tracks(tmp_path / "a.mkv", [tone(1.0, 120.0), tone(1.0, 240.0)])
    with pytest.raises(InputError, match=r"2 of its sound tracks sound.*Choose the channel track0"):
        probe(path, PLAIN)
    for name, hz in (("track0", 120.0), ("track1", 240.0), ("track1:L", 240.0)):
        assert means(probe(path, PLAIN, channels=[name]))["f0_hz"] == pytest.approx(hz, rel=0.02)
    with pytest.raises(InputError, match="sound track 3 was asked for; allowed: track0"):
        probe(path, PLAIN, channels=["track3"])


def test_a_line_says_how_much_there_is_of_the_person(tmp_path: Path, voice: Path):
    assert render(probe(voice, PLAIN)).splitlines()[-1] == "sound 100 %"
    film = probe(write_movie(tmp_path / "a.mp4", [flat()] * 25, sound=0 * tone(1.0)), PLAIN)
    assert film.line == "face 0 %, sound 0 %"
    assert [words in note for words, note in zip(("a face is seen in 0 %", "is silent"), film.notes, strict=True)]
