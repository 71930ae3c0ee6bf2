"""Spectral tilt: how much weaker a voice is above 1 kHz than below. Soft and breathy voices fall off more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from apportion.features.media_io.audio import Track
from apportion.features.time_series import Series, Span

LOW_HZ, HIGH_HZ = (0.0, 1000.0), (1000.0, 4000.0)
WINDOW_S, STEP_S = 0.04, 0.02
FRAMES_AT_ONCE = 1000
"""Spectra of a block need not be held together."""


@dataclass(frozen=True)
class Bands:
    """Power densities in dB of two bands over time, averaged as energies."""

    low: Series
    high: Series

    def tilt_db(self, spans: Sequence[Span], length_s: float) -> tuple[float | None, float]:
        """Level of 1 to 4 kHz less that of 0 to 1 kHz over ``spans``, dB, and coverage of ``length_s`` seconds.

        Source: Praat's "Get slope" (0, 1000, 1000, 4000, energy) of a long-term average spectrum.
        """
        low, coverage = self.low.mean(spans, length_s)
        high, _ = self.high.mean(spans, length_s)
        return (None, 0.0) if low is None or high is None else (high - low, coverage)


def find_bands(track: Track) -> Bands:
    """Both bands of a track without direct current; steps of 20 ms, NaN for digital silence."""
    step, size = round(STEP_S * track.rate_hz), round(WINDOW_S * track.rate_hz)
    if step < 1 or len(track.samples) < size or track.rate_hz < 2 * HIGH_HZ[1]:
        none = Series(np.zeros(0), np.zeros(0), np.zeros(0), decibel=True)
        return Bands(none, none)
    window = np.hanning(size + 2)[1:-1].astype(np.float32)
    frames = sliding_window_view(track.samples, size)[::step]
    hz = np.fft.rfftfreq(size, 1.0 / track.rate_hz)
    # A bin at a band's end lies half within it.
    weights = [np.where(np.isin(hz, band), 0.5, (hz > band[0]) & (hz < band[1])) for band in (LOW_HZ, HIGH_HZ)]
    shares = np.stack([weight / weight.sum() for weight in weights]).astype(np.float32)
    power = np.concatenate(
        [
            _means(frames[first : first + FRAMES_AT_ONCE] * window, shares)
            for first in range(0, len(frames), FRAMES_AT_ONCE)
        ]
    )
    sounding = (np.ptp(frames, axis=1) > 0) & (power > 0).all(axis=1)
    levels = np.full(power.shape, np.nan)
    levels[sounding] = 10.0 * np.log10(power[sounding])
    middles_s = track.start_s + (np.arange(len(frames)) * step + size / 2) / track.rate_hz
    cells = (middles_s - STEP_S / 2, middles_s + STEP_S / 2)
    return Bands(*(Series(*cells, levels[:, i], decibel=True) for i in (0, 1)))


def _means(frames: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Mean power of each band [frames, bands]; ``shares`` [bands, bins]."""
    from scipy.fft import rfft

    means: np.ndarray = (np.abs(rfft(frames, axis=1)) ** 2).astype(np.float64) @ shares.T
    return means
