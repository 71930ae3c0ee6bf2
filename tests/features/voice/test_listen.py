from pathlib import Path

import numpy as np
import pytest

import features.recording.blocks
from corpus.session import Media
from features.settings import FeatureSettings
from features.voice.listen import listen
from foundation.errors import UnitError
from tests.features.clips import flat, tone, write_movie, write_wav

SETTINGS = FeatureSettings()


def test_a_voice_on_the_session_clock(tmp_path: Path):
    write_wav(tmp_path / "a.wav", np.stack([tone(1.0, 120.0), tone(1.0, 240.0)]))
    for channel, hz in (("L", 120.0), ("R", 240.0)):
        voice = listen(tmp_path, Media("ann", "audio", "a.wav", 5.0, channel), SETTINGS)
        assert voice.measure([(5.2, 5.8)], 0.6)["f0_hz"] == (pytest.approx(hz, rel=0.01), pytest.approx(1.0))
        assert voice.measure([(0.2, 0.8)], 0.6)["f0_hz"] == (None, 0.0)


def test_a_long_recording_is_heard_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(features.recording.blocks, "BLOCK_S", 2.0)
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
