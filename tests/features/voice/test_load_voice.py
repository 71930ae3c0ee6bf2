from pathlib import Path

import numpy as np
import pytest

import apportion.features.media_io.chunks
from apportion.corpus.session import Media
from apportion.features.settings import FeatureSettings
from apportion.features.voice.load_voice import listen
from apportion.foundation.errors import UnitError
from tests.features.clips import flat, tone, write_movie, write_wav

SETTINGS = FeatureSettings()


def test_a_voice_on_the_session_clock(tmp_path: Path):
    write_wav(tmp_path / "a.wav", np.stack([tone(1.0, 120.0), tone(1.0, 240.0)]))
    for channel, hz in (("L", 120.0), ("R", 240.0)):
        voice = listen(tmp_path, Media("ann", "audio", "a.wav", 5.0, channel), SETTINGS)
        assert voice.measure([(5.2, 5.8)], 0.6)["f0_hz"] == (pytest.approx(hz, rel=0.01), pytest.approx(1.0))
        assert voice.measure([(0.2, 0.8)], 0.6)["f0_hz"] == (None, 0.0)


def test_a_long_recording_is_heard_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(apportion.features.media_io.chunks, "BLOCK_S", 2.0)
    write_wav(tmp_path / "a.wav", np.concatenate([tone(4.0, 120.0), tone(5.0, 240.0)]))
    voice = listen(tmp_path, Media("ann", "audio", "a.wav", -1.0), SETTINGS)
    for span, hz in (((-0.8, 2.8), 120.0), ((3.2, 7.8), 240.0)):
        found = voice.measure([span], span[1] - span[0])
        assert found["f0_hz"] == (pytest.approx(hz, rel=0.01), pytest.approx(1.0, abs=0.01))
        assert found["jitter_local"][0] < 0.002
    assert voice.measure([(8.1, 9.0)], 0.9)["log_energy_db"] == (None, 0.0)


def test_a_film_without_sound_has_no_voice_and_an_audio_row_must_have_one(tmp_path: Path):
    write_movie(tmp_path / "a.mp4", [flat()] * 5)
    assert listen(tmp_path, Media("ann", "video", "a.mp4"), SETTINGS) is None
    with pytest.raises(UnitError, match=r"a\.mp4: no sound in the file that the media table gives as ann's audio"):
        listen(tmp_path, Media("ann", "audio", "a.mp4"), SETTINGS)


def test_the_centre_of_surround_sound_is_the_voice(tmp_path: Path):
    noise = 0.3 * np.random.default_rng(0).normal(size=(6, 32000))
    noise[2] = tone(2.0, 120.0)
    write_wav(tmp_path / "a.wav", noise)
    told: list[str] = []
    voice = listen(tmp_path, Media("ann", "audio", "a.wav"), SETTINGS, told.append)
    found = voice.measure([(0.1, 1.9)], 1.8)
    assert found["f0_hz"] == (pytest.approx(120.0, rel=0.01), pytest.approx(1.0, abs=0.01))
    assert found["log_energy_db"][0] == pytest.approx(10 * np.log10(np.mean(tone(2.0, 120.0) ** 2)), abs=0.1)
    assert told == [
        "a.wav: its sound has 6 channels (5.1): the centre, 2, is taken. "
        "Name another in the media table's column channel."
    ]


def test_a_channel_that_is_named_is_taken_whatever_there_is(tmp_path: Path):
    planes = np.zeros((6, 16000))
    planes[0], planes[2] = tone(1.0, 240.0), tone(1.0, 120.0)
    write_wav(tmp_path / "a.wav", planes)
    told: list[str] = []
    for channel, hz in (("L", 240.0), ("0", 240.0), ("2", 120.0)):
        voice = listen(tmp_path, Media("ann", "audio", "a.wav", 0.0, channel), SETTINGS, told.append)
        assert voice.measure([(0.2, 0.8)], 0.6)["f0_hz"][0] == pytest.approx(hz, rel=0.01)
    write_wav(tmp_path / "b.wav", planes[::2][:2])
    listen(tmp_path, Media("ann", "audio", "b.wav"), SETTINGS, told.append)
    assert told == []
