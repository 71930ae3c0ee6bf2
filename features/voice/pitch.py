"""Fundamental frequency (f0, pitch) in Hz by Praat's autocorrelation; unvoiced time has none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apportion.features.media_io.audio import Track
from apportion.features.media_io.chunks import AudioBlock
from apportion.features.settings import FeatureSettings
from apportion.features.time_series import Series, Span, sampled
from apportion.foundation.arrays import Floats

Range = tuple[float, float]
"""Floor and ceiling in Hz: the lowest and the highest pitch looked for."""
ANYBODY: Range = (60.0, 1000.0)
"""Where the first pass looks, from deep voices to children who call and sopranos (the source has 60 to 700)."""
UNKNOWN: Range = (75.0, 500.0)
"""For who was hardly heard."""
FLOOR_FACTOR, CEILING_FACTOR = 0.75, 1.5
FIRST_STEP_S = 0.03
LEAST_VOICED_S = 1.0
"""Quartiles of less than this say nothing of a person."""
NOBODY_HZ = 450.0
"""No speaker's first quartile lies above: it is the resonance of a whisper."""


def praat_sound(track: Track) -> Any:
    """The track as a ``parselmouth.Sound``, None where it is empty."""
    import parselmouth

    if not len(track.samples):
        return None
    return parselmouth.Sound(track.samples, sampling_frequency=track.rate_hz, start_time=track.start_s)


def pitch_range(blocks: Iterable[AudioBlock], settings: FeatureSettings, own: Sequence[Span] = ()) -> Range:
    """A person's floor and ceiling: three quarters of the first quartile of their pitch, half more than the third.

    ``blocks`` are of one track; ``own``: when the person has the floor, seconds on its clock (nothing: always). A
    bound that ``settings`` name is kept, and where both are named nothing is heard.

    Source: De Looze and Hirst (2008), "Detecting changes in key and range for the automatic modelling and coding of
    intonation": a first pass over the pitch of anybody, quartiles, and a second pass between 0.75 q1 and 1.5 q3.
    """
    floor_hz, ceiling_hz = settings.pitch_floor_hz, settings.pitch_ceiling_hz
    if floor_hz is not None and ceiling_hz is not None:
        return floor_hz, ceiling_hz
    wide = _or((floor_hz, ceiling_hz), ANYBODY)
    heard = [_voiced(block, wide) for block in blocks]
    times_s, f0_hz = (np.concatenate([part[i] for part in heard]) if heard else np.zeros(0) for i in (0, 1))
    if own:  # What else sounds on a shared track is somebody else's voice.
        f0_hz = f0_hz[_within(times_s, own)]
    lower, upper = np.quantile(f0_hz, (0.25, 0.75)) if len(f0_hz) * FIRST_STEP_S >= LEAST_VOICED_S else (np.inf, 0.0)
    found = UNKNOWN if lower > NOBODY_HZ else (FLOOR_FACTOR * float(lower), CEILING_FACTOR * float(upper))
    return _or((floor_hz, ceiling_hz), found)


def _within(times_s: Floats, spans: Sequence[Span]) -> NDArray[np.bool_]:
    """Which times lie in one of the spans."""
    found = np.zeros(len(times_s), bool)
    for start_s, end_s in spans:
        found |= (times_s >= start_s) & (times_s < end_s)
    return found


def _or(named: tuple[float | None, float | None], otherwise: Range) -> Range:
    floor_hz, ceiling_hz = (b if a is None else a for a, b in zip(named, otherwise, strict=True))
    return floor_hz, ceiling_hz


def _voiced(block: AudioBlock, range_hz: Range) -> tuple[Floats, Floats]:
    """Times in seconds and f0 in Hz of the frames of a block's core between voiced ones."""
    pitch = track_pitch(praat_sound(block.track), range_hz, FIRST_STEP_S)
    if pitch is None:
        return np.zeros(0), np.zeros(0)
    times_s, f0_hz = pitch.xs(), pitch.selected_array["frequency"].astype(np.float64)
    voiced = f0_hz > 0
    # Noise sounds like a voice for a frame or two.
    voiced[1:-1] &= (f0_hz[:-2] > 0) & (f0_hz[2:] > 0)
    voiced &= (times_s >= block.core[0]) & (times_s < block.core[1])
    return times_s[voiced], f0_hz[voiced]


def track_pitch(sound: Any, range_hz: Range, step_s: float | None = None) -> Any:
    """Praat's pitch object of a whole ``parselmouth.Sound``, None where there is none or it is too short for the floor.

    ``range_hz``: floor and ceiling. ``step_s`` is the time between frames, Praat's own (0.75 / floor) where None.

    Source: f0 of LLM-GELI section 5.1; Boersma (1993), "Accurate short-term analysis of the fundamental frequency".
    """
    # Praat's window is three periods of the lowest pitch; it refuses anything shorter.
    if sound is None or sound.duration < 3.0 / range_hz[0] + sound.dx:
        return None
    return sound.to_pitch(time_step=step_s, pitch_floor=range_hz[0], pitch_ceiling=range_hz[1])


def pitch_series(pitch: Any) -> Series:
    """f0 in Hz [F], NaN where the voice does not sound."""
    if pitch is None:
        return sampled([], [], 1.0)
    frequency = pitch.selected_array["frequency"].astype(np.float64)
    return sampled(pitch.xs(), np.where(frequency > 0, frequency, np.nan), pitch.dx)


def hnr_series(pitch: Any) -> Series:
    """Harmonics-to-noise ratio in dB [F], NaN where the voice does not sound.

    10*log10(r / (1 - r)) of the autocorrelation r that found the pitch. Source: Praat's voice report, "Mean
    harmonics-to-noise ratio" (its Harmonicity object has windows of its own); Boersma (1993).
    """
    if pitch is None:
        return sampled([], [], 1.0)
    voiced = pitch.selected_array["frequency"] > 0
    r = np.clip(pitch.selected_array["strength"].astype(np.float64), 1e-15, 1.0 - 1e-15)
    return sampled(pitch.xs(), np.where(voiced, 10.0 * np.log10(r / (1.0 - r)), np.nan), pitch.dx)
