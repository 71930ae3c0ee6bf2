"""The range of pitch of one person: children are no grown-ups, noise is nobody."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.features.media_io.audio import Track
from apportion.features.media_io.chunks import AudioBlock
from apportion.features.settings import FeatureSettings
from apportion.features.voice.pitch import UNKNOWN, pitch_range
from apportion.features.voice.voice_features import measure_voice
from tests.features.voice.test_voice_features import SETTINGS, read
from tests.features.voice.voices import CHILD, MAN, melody, spoken, with_noise

OWN = FeatureSettings()


def track(sound: np.ndarray, rate_hz: int = 16000) -> Track:
    return Track(sound.astype(np.float32), rate_hz, 0.0)


def mean_hz(sound: np.ndarray, chosen: FeatureSettings = OWN, rate_hz: int = 16000) -> float | None:
    length_s = len(sound) / rate_hz
    return measure_voice(track(sound, rate_hz), chosen).measure([(0.0, length_s)], length_s)["f0_hz"][0]


@pytest.mark.parametrize("snr_db", [None, 20.0, 10.0, 5.0])
def test_a_synthetic_child_of_420_hz_is_no_378(snr_db: float | None):
    child = spoken(melody(10.0, CHILD, 1.0), 1.3, syllables_hz=4.0)
    heard = child if snr_db is None else with_noise(child, snr_db)
    assert mean_hz(heard) == pytest.approx(CHILD, rel=0.02)
    assert mean_hz(heard, SETTINGS) < 400.0


@pytest.mark.parametrize(("hz", "size"), [(MAN, 1.0), (210.0, 1.1), (CHILD, 1.3)])
def test_telephone_sound_has_the_same_pitch(hz: float, size: float):
    assert mean_hz(spoken(melody(8.0, hz, 0.8, 8000), size, 8000), rate_hz=8000) == pytest.approx(hz, rel=0.015)


def test_a_range_is_of_praats_quartiles_and_the_figures_are_praats_within_it():
    import parselmouth
    from parselmouth.praat import call

    conversation = read("pyannote_sample.wav")
    voice = measure_voice(conversation, OWN)
    sound = parselmouth.Sound(conversation.samples, sampling_frequency=conversation.rate_hz)
    first = call(sound, "To Pitch", 0.03, 60, 1000)
    quartiles = [call(first, "Get quantile", 0, 0, part, "Hertz") for part in (0.25, 0.75)]
    # Praat's quartiles also have the frames at the ends of each stretch of voice.
    assert voice.range_hz == pytest.approx((0.75 * quartiles[0], 1.5 * quartiles[1]), rel=0.02)
    second = call(sound, "To Pitch", 0, *voice.range_hz)
    mean = call(second, "Get mean", 0, 0, "Hertz")
    assert voice.measure([(0.0, 30.0)], 30.0)["f0_hz"][0] == pytest.approx(mean, rel=5e-5)


def test_a_bound_that_is_named_is_kept():
    block = AudioBlock(track(spoken(melody(4.0, MAN, 0.5))))
    low, high = pitch_range([block], OWN)
    assert low == pytest.approx(0.75 * MAN, rel=0.1) and high == pytest.approx(1.5 * MAN, rel=0.1)
    assert pitch_range([block], FeatureSettings(pitch_floor_hz=50.0)) == (50.0, pytest.approx(high, rel=0.01))
    assert pitch_range([block], FeatureSettings(pitch_ceiling_hz=400.0)) == (pytest.approx(low, rel=0.01), 400.0)
    assert pitch_range([block], SETTINGS) == (75.0, 500.0)


def test_a_shared_track_has_a_range_for_each():
    child, man = spoken(melody(4.0, CHILD, 0.5), 1.3), spoken(melody(8.0, MAN, 0.5))
    block = AudioBlock(track(np.concatenate([child, man])))
    assert pitch_range([block], OWN, [(0.0, 2.0), (2.0, 4.0)])[1] > CHILD
    assert pitch_range([block], OWN, [(4.0, 12.0)])[1] < CHILD
    # Who hardly speaks has no range of their own, and not the others'.
    assert pitch_range([block], OWN, [(0.0, 0.3)]) == UNKNOWN != pitch_range([block], OWN)


@pytest.mark.parametrize("sound", [np.zeros(0), np.zeros(160000), spoken(np.zeros(160000), syllables_hz=4.0)])
def test_silence_and_a_synthetic_whisper_are_nobody(sound: np.ndarray):
    assert pitch_range([AudioBlock(track(sound))], OWN) == UNKNOWN


def test_noise_is_nobody():
    noise = 0.1 * np.random.default_rng(0).standard_normal(160000)
    assert pitch_range([AudioBlock(track(noise))], OWN) == UNKNOWN


@settings(max_examples=5, deadline=None)
@given(st.floats(-60.0, 0.0), st.floats(-0.3, 0.3))
def test_neither_gain_nor_direct_current_changes_what_is_told_of_a_voice(gain_db: float, offset: float):
    voice = spoken(melody(2.0, 180.0, 0.8), syllables_hz=4.0)
    usual = measure_voice(track(voice), OWN).measure([(0.0, 2.0)], 2.0)
    other = measure_voice(track(voice * 10.0 ** (gain_db / 20.0) + offset), OWN).measure([(0.0, 2.0)], 2.0)
    for name, (mean, coverage) in usual.items():
        shift = gain_db if name in ("intensity_db", "log_energy_db") else 0.0
        assert other[name] == (pytest.approx(mean + shift, rel=5e-3, abs=0.02), pytest.approx(coverage, abs=0.01)), name
