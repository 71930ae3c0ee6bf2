import numpy as np
import pytest
from scipy.signal import lfilter

from apportion.features.media_io.audio import Track
from apportion.features.voice.spectral_tilt import find_bands
from tests.features.voice.test_voice_features import read


@pytest.mark.parametrize("name", ["pyannote_sample.wav", "the_north_wind_and_the_sun.wav", "pyannote_trn01.wav"])
def test_tilt_is_the_slope_of_praats_long_term_average_spectrum(name: str):
    import parselmouth
    from parselmouth.praat import call

    track = read(name)
    bands = find_bands(track)
    sound = parselmouth.Sound(track.samples, sampling_frequency=track.rate_hz)
    # Praat's spectrum is of the slice as it is cut, ours of windows of 40 ms: they differ at its edges.
    for start_s, end_s, limit_db in ((0.0, sound.duration, 0.2), (0.1, 1.1, 0.3)):
        spectrum = call(sound.extract_part(start_s, end_s), "To Ltas", 100)
        slope = call(spectrum, "Get slope", 0, 1000, 1000, 4000, "energy")
        assert bands.tilt_db([(start_s, end_s)], end_s - start_s)[0] == pytest.approx(slope, abs=limit_db)


def test_white_noise_has_none_and_a_soft_voice_falls_off():
    noise = 0.1 * np.random.default_rng(0).standard_normal(48000)
    white = Track(noise.astype(np.float32), 16000, 5.0)
    assert find_bands(white).tilt_db([(5.0, 8.0)], 3.0) == (
        pytest.approx(0.0, abs=0.2),
        pytest.approx(1.0, abs=0.02),
    )
    soft = Track(lfilter([0.1], [1.0, -0.95], noise).astype(np.float32), 16000, 0.0)
    assert find_bands(soft).tilt_db([(0.0, 3.0)], 3.0)[0] < -10.0


def test_where_there_is_nothing_above_a_kilohertz_there_is_no_tilt():
    for track in (Track(np.zeros(0, np.float32), 16000, 0.0), Track(np.ones(16000, np.float32), 16000, 0.0)):
        assert find_bands(track).tilt_db([(0.0, 1.0)], 1.0) == (None, 0.0)
    low = Track(np.random.default_rng(0).standard_normal(6000).astype(np.float32), 6000, 0.0)
    assert find_bands(low).tilt_db([(0.0, 1.0)], 1.0) == (None, 0.0)
