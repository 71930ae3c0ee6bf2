from pathlib import Path

import numpy as np
import pytest

from apportion.corpus.session import Media
from apportion.features.media_io.audio import joined, read_pieces
from apportion.features.media_io.channel import Channel, heard_channel, parse_channel, voice_channel
from apportion.features.media_io.media import open_recording
from apportion.foundation.errors import UnitError
from tests.features.clips import flat, tone, write_movie, write_tracks, write_wav


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("audio", None, Channel()),
        ("audio", "", Channel()),
        ("audio", "L", Channel(audio=0)),
        ("audio", "R", Channel(audio=1)),
        ("audio", "3", Channel(audio=3)),
        ("video", "left", Channel(half="left")),
        ("video", "right", Channel(half="right")),
        ("video", "R", Channel(audio=1)),
        ("video", "track1", Channel(track=1)),
        ("audio", "track2:R", Channel(track=2, audio=1)),
    ],
)
def test_known_channels(kind, name, expected):
    assert parse_channel(Media("ann", kind, "a.mp4", 0.0, name)) == expected


@pytest.mark.parametrize(
    ("kind", "name"),
    [("audio", "left"), ("audio", "-1"), ("video", "top"), ("audio", "²"), ("audio", "track"), ("audio", ":L")],
)
def test_unknown_channels_name_what_is_allowed(kind, name):
    with pytest.raises(UnitError, match=rf"a\.mp4: channel '{name}' of ann's {kind} is not known.*L, R, a channel"):
        parse_channel(Media("ann", kind, "a.mp4", 0.0, name))


NOISE = 0.1 * np.random.default_rng(1).normal(size=(6, 16000))
VOICE = tone(1.0)


def _chosen(path: Path) -> tuple[int, str] | None:
    with open_recording(path.parent, path.name, 1.0) as recording:
        chosen = voice_channel(recording, Channel())
    return None if chosen is None else (chosen[0].audio, chosen[1])


def _with(index: int, samples: np.ndarray, channels: int = 6) -> np.ndarray:
    planes = NOISE[:channels].copy()
    planes[index] = samples
    return planes


def test_one_channel_or_two_are_left_alone(tmp_path: Path):
    assert _chosen(write_wav(tmp_path / "a.wav", VOICE)) is None
    assert _chosen(write_wav(tmp_path / "b.wav", np.stack([VOICE, VOICE]))) is None
    assert _chosen(write_movie(tmp_path / "c.mp4", [flat()] * 5)) is None


def test_the_centre_then_the_loudest_then_the_first(tmp_path: Path):
    planes = _with(2, 0.3 * VOICE)
    planes[0] = 3 * VOICE
    assert _chosen(write_wav(tmp_path / "a.wav", planes)) == (
        2,
        "its sound has 6 channels (5.1): the centre, 2, is taken",
    )
    index, why = _chosen(write_wav(tmp_path / "a.wav", _with(3, VOICE, channels=4)))
    assert (index, why) == (3, "its sound has 4 channels (quad) and no centre: the loudest, 3, is taken")
    assert _chosen(write_wav(tmp_path / "b.wav", np.stack([VOICE] * 4)))[0] == 0


@pytest.mark.parametrize("left_over", [0.0, 0.001])
def test_an_empty_centre_gives_way_to_the_loudest_but_low_effects(tmp_path: Path, left_over: float):
    planes = _with(2, left_over * VOICE)
    planes[1], planes[3] = VOICE, 5 * VOICE
    index, why = _chosen(write_wav(tmp_path / "a.wav", planes))
    assert index == 1
    assert why == "its sound has 6 channels (5.1) and the centre is silent: the loudest, 1, is taken"


def test_samples_that_are_no_numbers_are_told_by_whoever_reads_them(tmp_path: Path):
    broken = VOICE.copy()
    broken[5] = np.nan
    planes = _with(2, broken)
    assert _chosen(write_wav(tmp_path / "a.wav", planes))[0] == 2


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (VOICE, None),
        (0.3 * VOICE, None),
        (NOISE[0], None),
        (0 * VOICE, Channel(audio=0)),
        (0.005 * NOISE[0], Channel(audio=0)),
        (-VOICE, Channel(turned=True)),
        (-0.8 * VOICE, Channel(turned=True)),
    ],
)
def test_of_two_channels_what_sounds_is_mixed(tmp_path: Path, second: np.ndarray, expected: Channel | None):
    path = write_wav(tmp_path / "a.wav", np.stack([VOICE, second]))
    with open_recording(tmp_path, path.name, 1.0) as recording:
        chosen = voice_channel(recording, Channel())
    assert chosen is None if expected is None else chosen[0] == expected
    with open_recording(tmp_path, path.name, 1.0) as recording:
        heard = joined(list(read_pieces(recording, Channel() if chosen is None else chosen[0]) or ()))
    assert np.sqrt(np.mean(heard.samples**2)) > 0.4 * np.sqrt(np.mean(VOICE**2))


def test_the_track_that_sounds_is_heard_and_two_are_asked_for(tmp_path: Path):
    silent, loud = 0 * VOICE, VOICE
    write_tracks(tmp_path / "a.mkv", [silent, loud])
    write_tracks(tmp_path / "b.mkv", [loud, 0.5 * loud])
    with open_recording(tmp_path, "a.mkv", 1.0) as recording:
        channel, told = heard_channel(recording, Channel())
    assert channel == Channel(track=1) and "2 sound tracks in one file: track1 (aac, 1 channel) is taken" in told
    with open_recording(tmp_path, "b.mkv", 1.0) as recording:
        assert heard_channel(recording, Channel(track=1)) == (Channel(track=1), None)
        with pytest.raises(UnitError, match=r"b\.mkv: 2 of its sound tracks sound.*for example track0"):
            heard_channel(recording, Channel())
        with pytest.raises(UnitError, match="sound track 2 was asked for; allowed: track0"):
            heard_channel(recording, Channel(track=2))
