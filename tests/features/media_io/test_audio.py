import wave
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from apportion.features.media_io.audio import Track
from apportion.features.media_io.channel import Channel
from apportion.features.media_io.media import open_recording
from apportion.foundation.errors import UnitError
from tests.features.clips import flat, tone, write_movie, write_wav
from tests.features.tracks import read_track
from tests.shared import shared


def _track(path: Path, channel: Channel = Channel()) -> Track | None:  # noqa: B008
    with open_recording(path.parent, path.name, 1.0) as recording:
        return read_track(recording, channel)


def test_channels_are_picked_or_averaged(tmp_path: Path):
    left, right = tone(0.5, 150.0), tone(0.5, 250.0)
    path = write_wav(tmp_path / "a.wav", np.stack([left, right]))
    np.testing.assert_allclose(_track(path, Channel(audio=0)).samples, left, atol=1e-6)
    np.testing.assert_allclose(_track(path, Channel(audio=1)).samples, right, atol=1e-6)
    both = _track(path)
    np.testing.assert_allclose(both.samples, (left + right) / 2, atol=1e-6)
    assert (both.rate_hz, both.start_s, both.duration_s, both.samples.dtype) == (16000, 0.0, 0.5, np.float32)


def test_sixteen_bit_samples_no_samples_and_no_sound(tmp_path: Path):
    path = write_wav(tmp_path / "a.wav", tone(0.2), codec="pcm_s16le")
    np.testing.assert_allclose(_track(path).samples, tone(0.2), atol=1e-4)
    assert _track(write_movie(tmp_path / "a.mp4", [flat()] * 5)) is None
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", "not compressed"))
    assert _track(tmp_path / "a.wav").duration_s == 0.0


def test_a_channel_that_is_not_there_and_samples_that_are_no_numbers(tmp_path: Path):
    path = write_wav(tmp_path / "a.wav", tone(0.2))
    with pytest.raises(UnitError, match=r"a\.wav: channel 1 was asked for and the file has 1 audio channel \(allowed"):
        _track(path, Channel(audio=1))
    samples = tone(0.2)
    samples[7] = np.nan
    with pytest.raises(UnitError, match=r"a\.wav: 1 of \d+ audio samples are not numbers, 0\.00 s from"):
        _track(write_wav(tmp_path / "a.wav", samples))


def _write_aac(path: Path, rate_hz: int) -> bytes:
    with av.open(str(path), "w", format="adts") as container:
        stream = container.add_stream("aac", rate=rate_hz, layout="mono")
        for index in range(20):
            part = tone(1024 / rate_hz, rate_hz=rate_hz)[None].astype(np.float32)
            frame = av.AudioFrame.from_ndarray(part, format="fltp", layout="mono")
            frame.sample_rate, frame.pts = rate_hz, index * 1024
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path.read_bytes()


def test_rate_that_changes_on_the_way(tmp_path: Path):
    joined = _write_aac(tmp_path / "a.aac", 16000) + _write_aac(tmp_path / "b.aac", 44100)
    (tmp_path / "c.aac").write_bytes(joined)
    with pytest.raises(UnitError, match=r"changes on the way from 16000 Hz and 1 channels to 44100 Hz"):
        _track(tmp_path / "c.aac")


def _write_with_gap(path: Path, gap_s: float) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("flac", rate=16000, layout="mono")
        for index in range(40):
            part = np.round(tone(1600 / 16000, 200.0) * 20000).astype(np.int16)[None]
            frame = av.AudioFrame.from_ndarray(part, format="s16", layout="mono")
            frame.sample_rate = 16000
            frame.pts = index * 1600 + (round(gap_s * 16000) if index >= 20 else 0)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def test_a_gap_in_the_time_stamps_becomes_silence_and_an_impossible_one_is_told(tmp_path: Path):
    track = _track(_write_with_gap(tmp_path / "a.mkv", 1.5))
    assert track.duration_s == pytest.approx(5.5, abs=0.3)
    assert np.abs(track.samples[round(2.35 * 16000) : round(3.4 * 16000)]).max() == 0.0
    assert np.abs(track.samples[round(4.0 * 16000) : round(4.1 * 16000)]).max() > 0.1
    with pytest.raises(UnitError, match=r"time stamps jump by 5,000 s \(allowed: 3,600 s\)"):
        _track(_write_with_gap(tmp_path / "a.mkv", 5000.0))


def test_sound_that_begins_late_keeps_its_time():
    track = _track(shared("media/face_noface.mov"))
    assert track.start_s == pytest.approx(2.43, abs=0.005)
    assert track.rate_hz == 44100


def test_sound_with_more_samples_than_its_clock_has_room_for_stays_in_time(tmp_path: Path):
    # 400 packets of 1,627 samples, stamped 1,600 apart: after 40 s the sound would be 0.68 s late. A click tells.
    clicks, size, step = {300}, 1627, 1600
    with av.open(str(tmp_path / "a.mkv"), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=16000, layout="mono")
        for number in range(400):
            samples = np.zeros((1, size), np.int16)
            samples[0, 800:810] = 20000 if number in clicks else 0
            frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
            frame.sample_rate, frame.pts, frame.time_base = 16000, number * step, Fraction(1, 16000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with open_recording(tmp_path, "a.mkv", 1.0) as recording:
        track = read_track(recording, Channel())
    assert track is not None
    loud = np.flatnonzero(np.abs(track.samples) > 0.1)
    assert len(loud)
    assert track.start_s + loud[0] / track.rate_hz == pytest.approx((300 * step + 800) / 16000, abs=0.06)
    assert track.duration_s == pytest.approx(400 * step / 16000, abs=0.06)
