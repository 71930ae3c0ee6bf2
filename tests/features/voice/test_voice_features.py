"""Pitch, intensity, jitter and log energy: they share one analysis of a whole track."""

import math
import warnings

import numpy as np
import pytest

from apportion.features.media_io.audio import Track
from apportion.features.media_io.channel import Channel
from apportion.features.media_io.media import open_recording
from apportion.features.settings import FeatureSettings
from apportion.features.voice.jitter import jitter_local
from apportion.features.voice.voice_features import Voice, measure_voice
from tests.features.clips import tone
from tests.features.tracks import read_track
from tests.shared import shared

SETTINGS = FeatureSettings(pitch_floor_hz=75.0, pitch_ceiling_hz=500.0)
DISVOICE = FeatureSettings(pitch_floor_hz=75.0, pitch_ceiling_hz=500.0, jitter="disvoice")
OTHERS = {
    "f0_hz",
    "intensity_db",
    "log_energy_db",
    "shimmer_local",
    "hnr_db",
    "spectral_tilt_db",
    "articulation_rate",
    "pause_fraction",
}
"""Every feature of the voice beside the jitter that the settings name."""


def _voice(
    samples: np.ndarray, start_s: float = 0.0, rate_hz: int = 16000, settings: FeatureSettings = SETTINGS
) -> Voice:
    return measure_voice(Track(samples.astype(np.float32), rate_hz, start_s), settings)


def read(name: str) -> Track:
    path = shared(f"media/{name}")
    with open_recording(path.parent, path.name, 1.0) as recording:
        track = read_track(recording, Channel())
    assert track is not None
    return track


@pytest.fixture(scope="module")
def conversation() -> Track:
    return read("pyannote_sample.wav")


def test_real_conversation_gives_praats_figures(conversation: Track):
    voice = measure_voice(conversation, SETTINGS)
    whole = voice.measure([(0.0, 30.0)], 30.0)
    assert np.nanmean(voice.series["f0_hz"].values) == pytest.approx(198.10, abs=0.05)
    assert whole["f0_hz"][0] == pytest.approx(198.10, abs=0.05)
    assert whole["jitter_local"][0] == pytest.approx(0.01241, abs=0.0001)
    assert whole["intensity_db"][0] == pytest.approx(60.6, abs=0.1)  # the mean of the decibels would be 47.7
    power = float(np.mean(conversation.samples.astype(np.float64) ** 2))
    assert whole["log_energy_db"][0] == pytest.approx(10 * math.log10(power), abs=1e-3)
    assert 0.2 < whole["f0_hz"][1] < 0.8
    assert whole["f0_hz"][1] == whole["jitter_local"][1]


def test_tone_is_heard_at_its_pitch_and_time():
    voice = _voice(np.concatenate([tone(1.0, 120.0), np.zeros(16000), tone(1.0, 240.0)]), start_s=5.0)
    low, silent, high = (voice.measure([(a, a + 0.8)], 0.8) for a in (5.1, 6.1, 7.1))
    assert low["f0_hz"] == (pytest.approx(120.0, abs=1.0), pytest.approx(1.0))
    assert high["f0_hz"] == (pytest.approx(240.0, abs=2.0), pytest.approx(1.0))
    assert silent["f0_hz"] == (None, 0.0)
    assert silent["jitter_local"] == (None, 0.0)
    assert silent["log_energy_db"] == (None, 0.0)
    assert low["jitter_local"][0] < 0.001


def test_slices_of_jitter_are_praats_own(conversation: Track):
    from parselmouth.praat import call

    pulses = measure_voice(conversation, SETTINGS).jitter.pulses
    praat = call(pulses, "Get jitter (local)", 6.7, 9.0, 1e-4, 0.02, 1.3)
    assert jitter_local(pulses, [(6.7, 9.0)]) == praat
    voice = measure_voice(conversation, SETTINGS).jitter
    both = voice.over([(6.7, 9.0), (18.0, 22.0)])
    singles = [voice.over([span]) for span in ((6.7, 9.0), (18.0, 22.0))]
    assert min(singles) <= both <= max(singles)
    assert voice.over([]) is None
    assert voice.over([(3.0, 3.0)]) is None
    assert jitter_local(None, [(0.0, 1.0)]) is None


def test_disvoice_jitter_of_a_real_conversation(conversation: Track):
    import parselmouth

    voice = measure_voice(conversation, DISVOICE)
    sound = parselmouth.Sound(conversation.samples, sampling_frequency=conversation.rate_hz)
    pitch = sound.to_pitch(time_step=0.02, pitch_floor=75.0, pitch_ceiling=500.0)
    times, f0 = pitch.xs(), pitch.selected_array["frequency"]
    assert np.diff(times) == pytest.approx(0.02)
    for start_s, end_s in ((0.0, 30.0), (6.7, 9.0)):
        voiced = f0[(times >= start_s) & (times < end_s) & (f0 > 0)]
        expected = np.mean(100 * np.abs(voiced[1:] - voiced[:-1]) / np.max(voiced))
        found = voice.measure([(start_s, end_s)], end_s - start_s)
        assert set(found) == OTHERS | {"jitter_disvoice"}
        assert found["jitter_disvoice"] == (pytest.approx(expected, rel=1e-9), found["f0_hz"][1])
    assert voice.measure([], 1.0)["jitter_disvoice"] == (None, 0.0)
    plain = measure_voice(conversation, SETTINGS).measure([(0.0, 30.0)], 30.0)
    assert voice.measure([(0.0, 30.0)], 30.0)["f0_hz"] == plain["f0_hz"]


@pytest.mark.parametrize(("seconds", "rate_hz"), [(1.0, 16000), (0.7513, 44100), (0.0034, 8000)])
def test_log_energy_is_the_power_of_the_samples(seconds: float, rate_hz: int):
    samples = (0.1 * np.random.default_rng(1).standard_normal(round(seconds * rate_hz))).astype(np.float32)
    series = _voice(samples, start_s=2.0, rate_hz=rate_hz).series["log_energy_db"]
    length_s = len(samples) / rate_hz
    mean, coverage = series.mean([(2.0, 2.0 + length_s)], length_s)
    samples = samples.astype(np.float64) - np.mean(samples, dtype=np.float64)
    power = sum(float(x) ** 2 for x in samples) / len(samples)
    assert mean == pytest.approx(10 * math.log10(power), abs=1e-6)
    assert coverage == pytest.approx(1.0)
    step = round(rate_hz / 100)
    cells = [samples[i : i + step] for i in range(0, len(samples), step)]
    assert series.values == pytest.approx([10 * math.log10(np.mean(cell**2)) for cell in cells], abs=1e-5)


@pytest.mark.parametrize("jitter", ["praat", "disvoice"])
@pytest.mark.parametrize("seconds", [0.0, 0.0001, 0.005, 0.03, 0.05, 0.08, 0.0875])
@pytest.mark.parametrize("rate_hz", [8000, 44100])
def test_sound_too_short_for_praat_is_no_error(seconds: float, rate_hz: int, jitter: str):
    settings = FeatureSettings(jitter=jitter)
    name = {"praat": "jitter_local", "disvoice": "jitter_disvoice"}[jitter]
    found = _voice(tone(seconds, rate_hz=rate_hz), rate_hz=rate_hz, settings=settings).measure([(0.0, 0.1)], 0.1)
    assert set(found) == OTHERS | {name}
    if seconds < 0.04:
        assert found["f0_hz"] == found["intensity_db"] == found[name] == (None, 0.0)


@pytest.mark.parametrize("settings", [SETTINGS, DISVOICE])
def test_digital_silence_and_noise_have_no_pitch(settings: FeatureSettings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        silence = _voice(np.zeros(16000), settings=settings).measure([(0.0, 1.0)], 1.0)
        noisy = 0.1 * np.random.default_rng(0).standard_normal(16000)
        noise = _voice(noisy, settings=settings).measure([(0.0, 1.0)], 1.0)
    assert set(silence.values()) == {(None, 0.0)}
    assert noise["f0_hz"][1] < 0.2
    assert noise["log_energy_db"] == (pytest.approx(-20.0, abs=0.5), pytest.approx(1.0))
