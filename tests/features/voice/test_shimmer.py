import re

import numpy as np
import pytest

from apportion.features.voice.shimmer import Periods, find_periods
from apportion.features.voice.voice_features import measure_voice
from tests.features.voice.test_voice_features import SETTINGS, read

SLICES = [(0.0, 30.0), (6.7, 9.0), (18.0, 22.0), (20.0, 20.5)]


def test_slices_of_shimmer_and_of_harmonics_to_noise_are_praats_own():
    import parselmouth
    from parselmouth.praat import call

    conversation = read("pyannote_sample.wav")
    voice = measure_voice(conversation, SETTINGS)
    sound = parselmouth.Sound(conversation.samples, sampling_frequency=conversation.rate_hz)
    call(sound, "Subtract mean")  # Praat takes a period's amplitude with its direct current.
    pitch = sound.to_pitch(pitch_floor=75.0, pitch_ceiling=500.0)
    pulses = call([sound, pitch], "To PointProcess (cc)")
    for start_s, end_s in SLICES:
        found = voice.measure([(start_s, end_s)], end_s - start_s)
        shimmer = call([sound, pulses], "Get shimmer (local)", start_s, end_s, 1e-4, 0.02, 1.3, 1.6)
        assert found["shimmer_local"] == (pytest.approx(shimmer, rel=1e-6), found["f0_hz"][1])
        report = call([sound, pitch, pulses], "Voice report", start_s, end_s, 75, 500, 1.3, 1.6, 0.03, 0.45)
        hnr = float(re.search(r"harmonics-to-noise ratio: ([\d.]+) dB", report)[1])
        # A frame at the border of a slice belongs to both in part.
        assert found["hnr_db"] == (pytest.approx(hnr, abs=1e-3 if end_s - start_s > 20 else 0.15), found["f0_hz"][1])


def test_spans_are_weighted_by_their_periods_and_nothing_has_no_shimmer():
    times_s = np.arange(8) * 0.01
    steady = Periods(times_s, np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.2, 1.0, 1.2]))
    assert steady.shimmer([(0.0, 0.04)]) == 0.0
    # Periods 1 to 6 of 0 to 7: steps of 0, 0, 0, 0.2, 0.2; Praat's mean is of all but the last.
    assert steady.shimmer([(0.0, 1.0)]) == pytest.approx((0.4 / 5) / (5.2 / 5))
    assert steady.shimmer([]) is None and steady.shimmer([(2.0, 3.0)]) is None
    assert steady.shimmer([(0.0, 0.02)]) is None
    assert find_periods(None, None).shimmer([(0.0, 1.0)]) is None
    loud = Periods(times_s[:4], np.array([1.0, 1.0, 1.7, 1.0]))
    assert loud.shimmer([(0.0, 1.0)]) is None  # More than 1.6 times as loud: no neighbours.
