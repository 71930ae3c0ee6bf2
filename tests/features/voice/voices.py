"""Synthetic voices whose pitch is known: a glottal source through formants. Nobody spoke them."""

import numpy as np
from scipy.signal import lfilter

from apportion.foundation.arrays import Floats

CHILD, WOMAN, MAN = 420.0, 210.0, 110.0
FORMANTS = ((700.0, 90.0), (1300.0, 110.0), (2800.0, 160.0))
"""Centre and width in Hz of an open vowel of a grown-up."""


def melody(seconds: float, mean_hz: float, octaves: float, rate_hz: int = 16000, seed: int = 0) -> Floats:
    """f0 in Hz of every sample, its mean ``mean_hz``; falls and rises of phrases over ``octaves`` in all."""
    times = np.arange(round(seconds * rate_hz)) / rate_hz
    phases = np.random.default_rng(seed).uniform(0, 2 * np.pi, 3)
    swing = sum(np.sin(2 * np.pi * hz * times + phase) for hz, phase in zip((0.31, 0.73, 1.9), phases, strict=True)) / 3
    f0 = 2.0 ** (octaves / 2 * swing)
    return f0 * mean_hz / f0.mean()


def spoken(f0_hz: Floats, size: float = 1.0, rate_hz: int = 16000, syllables_hz: float = 0.0) -> Floats:
    """A voice with that pitch [K]; ``size`` 1.3 has a child's formants; 0 f0 whispers; syllables of that rate."""
    noise = np.random.default_rng(1).standard_normal(len(f0_hz))
    phase = np.cumsum(f0_hz) / rate_hz
    source = np.where(f0_hz > 0, np.diff(np.floor(phase), prepend=0.0) * np.sqrt(rate_hz / np.maximum(f0_hz, 1.0)), 0)
    source = np.where(f0_hz > 0, lfilter([1.0], [1.0, -0.95], source) + 0.02 * noise, 0.3 * noise)
    for centre_hz, width_hz in FORMANTS:
        if centre_hz * size < rate_hz / 2:
            radius, angle = np.exp(-np.pi * width_hz / rate_hz), 2 * np.pi * centre_hz * size / rate_hz
            source = lfilter([1.0], [1.0, -2 * radius * np.cos(angle), radius**2], source)
    if syllables_hz:
        source = source * (0.05 + np.sin(np.pi * syllables_hz * np.arange(len(source)) / rate_hz) ** 2)
    source -= source.mean()
    return 0.3 * source / np.abs(source).max()


def with_noise(sound: Floats, snr_db: float) -> Floats:
    """The sound in white noise that lies ``snr_db`` below it."""
    noise = np.random.default_rng(2).standard_normal(len(sound))
    return sound + noise * np.sqrt(np.mean(sound**2)) * 10.0 ** (-snr_db / 20.0)
