"""Fundamental frequency (f0, pitch) in Hz by Praat's autocorrelation; unvoiced time has none."""

from __future__ import annotations

from typing import Any

import numpy as np

from apportion.features.time_series import Series, sampled


def track_pitch(sound: Any, floor_hz: float, ceiling_hz: float, step_s: float | None = None) -> Any:
    """Praat's pitch object of a whole ``parselmouth.Sound``, None where it is too short for the floor.

    ``step_s`` is the time between frames, Praat's own (0.75 / floor) where None.

    Source: f0 of LLM-GELI section 5.1; Boersma (1993), "Accurate short-term analysis of the fundamental frequency".
    """
    # Praat's window is three periods of the lowest pitch; it refuses anything shorter.
    if sound.duration < 3.0 / floor_hz + sound.dx:
        return None
    return sound.to_pitch(time_step=step_s, pitch_floor=floor_hz, pitch_ceiling=ceiling_hz)


def pitch_series(pitch: Any) -> Series:
    """f0 in Hz [F], NaN where the voice does not sound."""
    if pitch is None:
        return sampled([], [], 1.0)
    frequency = pitch.selected_array["frequency"].astype(np.float64)
    return sampled(pitch.xs(), np.where(frequency > 0, frequency, np.nan), pitch.dx)
