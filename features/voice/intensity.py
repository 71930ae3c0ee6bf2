"""Loudness as Praat's intensity."""

from __future__ import annotations

from typing import Any

import numpy as np

from apportion.features.time_series import Series, sampled

SILENCE_DB = -200.0
"""Praat gives -300 dB for digital silence; no microphone gets near this."""


def intensity_series(sound: Any, floor_hz: float) -> Series:
    """Intensity in dB relative to 20 micropascal [F] of a whole ``parselmouth.Sound``; full scale counts as 1 Pa.

    Digital silence is NaN, and a sound shorter than Praat's window (6.4 / floor) gives an empty series. Means over
    it are energy means: on one recording that is 60.6 dB where the mean of the decibels is 47.7 dB. It stands in
    for LLM-GELI's intensity, which is "from a predictor trained on RAVDESS" that is not public.
    """
    if sound.duration < 6.4 / floor_hz + sound.dx:
        return sampled([], [], 1.0, decibel=True)
    intensity = sound.to_intensity(minimum_pitch=floor_hz)
    values = intensity.values[0].astype(np.float64)
    return sampled(intensity.xs(), np.where(values > SILENCE_DB, values, np.nan), intensity.dx, decibel=True)
