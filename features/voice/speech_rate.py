"""How fast somebody speaks, and how much of the time they pause: syllable nuclei and silences of the intensity.

Source: de Jong and Wempe (2009), "Praat script to detect syllable nuclei and measure speech rate automatically",
Behavior Research Methods 41. A nucleus is a peak of intensity (floor 50 Hz), less than 25 dB below the 99th
percentile, that stands 2 dB above the dip after it, with a voice in it; a silence lasts for 0.3 s and more. Ours hears
the voice between the person's own floor and ceiling.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from apportion.features.time_series import Series, Span, sampled
from apportion.foundation.arrays import Floats

CONTOUR_FLOOR_HZ = 50.0
SILENCE_DB, DIP_DB = 25.0, 2.0
DIGITAL_SILENCE_DB = -200.0
"""Praat gives -300 dB for digital silence; no microphone gets near this."""
SHORTEST_SILENCE_S, SHORTEST_SOUND_S = 0.3, 0.1
LEAST_SOUND_S = 1.0
"""A syllable more or less in a shorter stretch would be another rate."""


def contour_series(sound: Any) -> Series:
    """Intensity in dB [F], digital silence as Praat has it (-300); empty where it is too short."""
    if sound is None or sound.duration < 6.4 / CONTOUR_FLOOR_HZ + sound.dx:
        return sampled([], [], 1.0)
    intensity = sound.to_intensity(minimum_pitch=CONTOUR_FLOOR_HZ)
    return sampled(intensity.xs(), intensity.values[0].astype(np.float64), intensity.dx)


def pause_series(contour: Series) -> Series:
    """1 in silences and 0 in sound [N], by Praat's "To TextGrid (silences)"; empty where nothing sounds."""
    sounding_db = _sounding_db(contour)
    if not len(contour.values) or sounding_db < DIGITAL_SILENCE_DB:
        return sampled([], [], 1.0)
    silent = contour.values < sounding_db
    changes = np.flatnonzero(np.diff(silent)) + 1
    starts_s = np.concatenate([contour.starts_s[:1], contour.times_s[changes]])
    states = silent[np.concatenate([[0], changes])]
    end_s = contour.ends_s[-1]
    for state, shortest_s in ((False, SHORTEST_SOUND_S), (True, SHORTEST_SILENCE_S)):
        # Too short a stretch becomes what is around it.
        states = states ^ ((states == state) & (np.diff(starts_s, append=end_s) < shortest_s))
        kept = np.concatenate([[True], states[1:] != states[:-1]])
        starts_s, states = starts_s[kept], states[kept]
    return Series(starts_s, np.append(starts_s[1:], end_s), states.astype(np.float64))


def syllable_nuclei(contour: Series, f0: Series, pauses: Series) -> Floats:
    """Times of the nuclei in seconds [K]."""
    times_s, values = _peaks(contour)
    loud = values > _sounding_db(contour)
    times_s, values = times_s[loud], values[loud]
    dips = np.array([_lowest(contour, a, b) for a, b in pairwise(times_s)])
    nuclei = times_s[:-1][values[:-1] - dips > DIP_DB]
    spoken: Floats = nuclei[np.isfinite(_at(f0, nuclei)) & (_at(pauses, nuclei) == 0)]
    return spoken


def articulation_rate(nuclei: Floats, pauses: Series, spans: Sequence[Span], length_s: float) -> float | None:
    """Syllables a second of sound over ``spans``, which last ``length_s``; None for less than a second of sound."""
    paused, coverage = pauses.mean(spans, length_s)
    sounding_s = 0.0 if paused is None else (1.0 - paused) * coverage * length_s
    if sounding_s < LEAST_SOUND_S:
        return None
    return float(sum(np.diff(np.searchsorted(nuclei, span))[0] for span in spans)) / sounding_s


def _sounding_db(contour: Series) -> float:
    return float(np.quantile(contour.values, 0.99, method="hazen")) - SILENCE_DB if len(contour.values) else np.inf


def _peaks(contour: Series) -> tuple[Floats, Floats]:
    """Times and values of the maxima, between the frames where they lie there, as Praat finds them."""
    import parselmouth
    from parselmouth.praat import call

    values = contour.values
    if len(values) < 3:
        return np.zeros(0), np.zeros(0)
    frames = parselmouth.Sound(values, sampling_frequency=1.0)  # Frame i stands at i + 0.5.
    maxima = call(frames, "To PointProcess (extrema)", 1, True, False, "Sinc70")
    if not call(maxima, "Get number of points"):
        return np.zeros(0), np.zeros(0)
    at = call(maxima, "To Matrix").values[0] - 0.5
    return np.interp(at, np.arange(len(values)), contour.times_s), _cubic(values, at)


def _cubic(values: Floats, at: Floats) -> Floats:
    """Values between frames, by the cubic whose slopes at both are those of their neighbours' line."""
    left = np.clip(np.floor(at).astype(int), 0, len(values) - 2)
    slopes = np.gradient(values)
    part, rise = at - left, values[left + 1] - values[left]
    first, second = slopes[left] - rise, rise - slopes[left + 1]
    between: Floats = values[left] + part * (rise + (1.0 - part) * ((1.0 - part) * first + part * second))
    return between


def _lowest(contour: Series, start_s: float, end_s: float) -> float:
    times_s = contour.times_s
    first, last = np.searchsorted(times_s, start_s), np.searchsorted(times_s, end_s, side="right")
    return float(np.min(contour.values[first:last], initial=np.inf))


def _at(series: Series, times_s: Floats) -> Floats:
    """The value of the cell at each time, NaN where there is none."""
    if not len(series.values):
        return np.full(len(times_s), np.nan)
    cells = np.searchsorted(series.starts_s, times_s, side="right") - 1
    inside = (cells >= 0) & (times_s < series.ends_s[cells])
    found: Floats = np.where(inside, series.values[cells], np.nan)
    return found
