"""The second computation of jitter, on drawn voices whose jitter is planted."""

import numpy as np
import pytest

from benchmarks.second_jitter import jitter, lowpass

RATE_HZ = 16000


def voice(shares: np.ndarray) -> np.ndarray:
    """Pulses of a decaying tone, 5 ms apart, each longer or shorter by its share."""
    begins = np.cumsum(0.005 * (1 + shares))
    times = np.arange(int((begins[-1] + 0.02) * RATE_HZ)) / RATE_HZ
    pulses = [
        np.where(times >= b, np.exp(-(times - b) * 400) * np.sin(2 * np.pi * 500 * (times - b)), 0) for b in begins
    ]
    return lowpass(np.nan_to_num(np.sum(pulses, axis=0)), RATE_HZ)


@pytest.mark.parametrize("planted", [0.0, 0.01, 0.02, 0.03])
def test_at_least_half_of_a_planted_jitter_is_found(planted: float):
    # Each cycle longer or shorter by chance: neighbours differ by 2 / sqrt(pi) standard deviations on average.
    shares = planted * np.sqrt(np.pi) / 2 * np.random.default_rng(0).normal(size=180)
    samples = voice(shares)
    found = jitter(samples, 800, len(samples) - 1600, RATE_HZ, 0.05 * np.abs(samples).max())
    assert planted / 2 <= found <= 1.2 * planted + 0.002


def test_silence_and_noise_have_none():
    noise = lowpass(np.random.default_rng(0).normal(0, 1e-3, RATE_HZ), RATE_HZ)
    assert np.isnan(jitter(noise, 0, RATE_HZ, RATE_HZ, 0.1))
    assert np.isnan(jitter(np.zeros(RATE_HZ), 0, RATE_HZ, RATE_HZ, 0.1))
