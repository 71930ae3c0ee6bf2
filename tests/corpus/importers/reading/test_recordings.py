import json

import pytest

from apportion.corpus.importers.reading.recordings import TrackPart, probe, read_channel_map, same_name, track_parts
from apportion.foundation.errors import InputError, UnitError
from tests.corpus.importers.reading.test_asking import Terminal
from tests.corpus.importers.recorded import mp4, wav
from tests.features.clips import flat, tone, write_movie, write_tracks
from tests.shared import shared

SIDES = {"L": "Alice", "R": "Bob"}
PEOPLE = ["Alice", "Bob"]


def test_probe_tells_what_a_file_is_whatever_its_name(tmp_path):
    found = probe(mp4(tmp_path / "a.mp4", channels=2))
    assert (found.has_video, found.audio_channels) == (True, 2) and found.duration_s == pytest.approx(2, abs=0.3)
    found = probe(wav(tmp_path / "a.wav"))
    assert (found.has_video, found.audio_channels, found.duration_s) == (False, 1, 2.0)
    assert not probe(wav(tmp_path / "a.wav").rename(tmp_path / "a.mp4")).has_video


@pytest.mark.parametrize(("answer", "channel"), [("1\n", "track0"), ("2\n", "track1"), ("\n", "refused")])
def test_a_person_says_which_of_two_tracks_counts(tmp_path, monkeypatch, answer, channel):
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", Terminal())
    path = write_tracks(tmp_path / "a.mkv", (tone(1.0), tone(1.0)))
    if channel == "refused":
        with pytest.raises(UnitError, match="2 of its sound tracks sound"):
            probe(path)
    else:
        found = probe(path)
        assert found.channel() == channel and "which was asked for" in (found.chosen or "")


@pytest.mark.parametrize("begins_s", [0.0, 50_000.0, 86_400.0])
@pytest.mark.parametrize("name", ["a.mp4", "a.mov", "a.mkv", "a.webm"])
def test_a_recording_ends_when_its_time_stamps_end_whatever_the_container(tmp_path, name, begins_s):
    codec = "libvpx" if name.endswith("webm") else "mpeg4"
    path = write_movie(tmp_path / name, [flat()] * 50, times_s=[begins_s + i / 25 for i in range(50)], codec=codec)
    assert probe(path).duration_s == pytest.approx(begins_s + 2.0, abs=0.05)


@pytest.mark.parametrize(
    ("data", "words"), [(b"", "zero bytes"), (b"not a video at all" * 99, "cannot be opened as a recording")]
)
def test_probe_of_something_else(tmp_path, data, words):
    (tmp_path / "a.mp4").write_bytes(data)
    with pytest.raises(UnitError, match=words):
        probe(tmp_path / "a.mp4")


def test_probe_of_a_codec_that_nobody_knows(tmp_path):
    data = bytearray(wav(tmp_path / "a.wav").read_bytes())
    data[20:22] = b"\x34\x12"
    (tmp_path / "a.wav").write_bytes(data)
    with pytest.raises(UnitError, match=r"a\.wav: neither sound nor picture in it"):
        probe(tmp_path / "a.wav")


def test_probe_of_a_real_mp4_that_is_cut_short(tmp_path):
    data = shared("media/WDA_KatieHill_000.mp4").read_bytes()
    (tmp_path / "a.mp4").write_bytes(data[: len(data) // 2])
    with pytest.raises(UnitError, match="cannot be opened as a recording"):
        probe(tmp_path / "a.mp4")


def test_own_files_and_the_better_sound(tmp_path):
    files = [mp4(tmp_path / "alice.mp4", channels=1), wav(tmp_path / "ALICE.wav"), mp4(tmp_path / "Bob.mp4")]
    found, notes, _ = track_parts([probe(path) for path in files], PEOPLE, {})
    assert set(found) == {
        TrackPart("Alice", "video", files[0]),
        TrackPart("Alice", "audio", files[1]),
        TrackPart("Bob", "video", files[2]),
    }
    assert notes == []


def test_a_shared_stereo_side_by_side_file(tmp_path):
    path = mp4(tmp_path / "call.mp4", channels=2)
    found, *_ = track_parts([probe(path)], PEOPLE, SIDES)
    assert set(found) == {
        TrackPart("Alice", "video", path, "left"),
        TrackPart("Bob", "video", path, "right"),
        TrackPart("Alice", "audio", path, "L"),
        TrackPart("Bob", "audio", path, "R"),
    }


def test_a_speakers_own_file_goes_before_the_shared_one(tmp_path):
    shared_file, own = mp4(tmp_path / "call.mp4", channels=2), wav(tmp_path / "bob.wav")
    found, *_ = track_parts([probe(shared_file), probe(own)], PEOPLE, SIDES)
    assert TrackPart("Bob", "audio", own) in found and TrackPart("Bob", "audio", shared_file, "R") not in found


def test_shared_mono_sound_is_not_used_and_that_is_said(tmp_path):
    found, notes, _ = track_parts([probe(mp4(tmp_path / "call.mp4", channels=1))], PEOPLE, SIDES)
    assert {part.kind for part in found} == {"video"} and "one audio channel for all" in notes[0]


def test_a_file_of_nobody(tmp_path):
    with pytest.raises(UnitError, match=r"alicia.wav: belongs to no speaker .*did you mean 'Alice'"):
        track_parts([probe(wav(tmp_path / "alicia.wav"))], PEOPLE, {})


def test_a_channel_map_is_spelt_as_the_transcript_and_is_json(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps({"L": "ALICE", "R": "carol"}))
    assert read_channel_map(tmp_path / "m.json", PEOPLE) == {"L": "Alice", "R": "carol"}
    (tmp_path / "m.json").write_text("{L: alice}")
    with pytest.raises(InputError, match="not valid JSON"):
        read_channel_map(tmp_path / "m.json", PEOPLE)
    assert same_name("STRASSE", ["Straße"]) == "Straße" and same_name("x", ["y"]) is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "is needed"),
        ({}, "is needed"),
        ({"L": 3}, "is needed"),
        ({"left": "Alice"}, "side 'left'; allowed: L, R"),
        ({"L": "Alice", "R": "alice"}, "on both sides"),
    ],
)
def test_channel_map_that_is_wrong(tmp_path, value, words):
    (tmp_path / "m.json").write_text(json.dumps(value))
    with pytest.raises(UnitError, match=words):
        read_channel_map(tmp_path / "m.json", PEOPLE)
