"""Shimmer: how irregular the loudness of the voice's periods is, beside jitter a sign of roughness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apportion.features.time_series import Span
from apportion.features.voice.jitter import LARGEST_FACTOR, LONGEST_S, SHORTEST_S
from apportion.foundation.arrays import Floats

LARGEST_AMPLITUDE_FACTOR = 1.6
"""Praat's default for neighbouring periods that are compared."""


@dataclass(frozen=True)
class Periods:
    """Glottal pulses ``times_s`` [P] and the ``amplitudes`` [P] of the periods around them, NaN where none is."""

    times_s: Floats
    amplitudes: Floats

    def then(self, later: Periods) -> Periods:
        """These and those of the ``later`` block of the same track as one."""
        return Periods(
            np.concatenate([self.times_s, later.times_s]), np.concatenate([self.amplitudes, later.amplitudes])
        )

    def shimmer(self, spans: Sequence[Span]) -> float | None:
        """Local shimmer over ``spans`` (seconds): mean |A_i - A_(i-1)| / mean A, a fraction; None without a voice.

        Several spans are averaged, weighted by their number of comparisons. Source: Praat's "Get shimmer (local)".
        """
        total, weights = 0.0, 0
        for start_s, end_s in spans:
            first, last = np.searchsorted(self.times_s, start_s), np.searchsorted(self.times_s, end_s, side="right")
            value, count = _local(self.times_s[first:last][1:-1], self.amplitudes[first:last][1:-1])
            total, weights = total + value * count, weights + count
        return total / weights if weights else None


def find_periods(sound: Any, pulses: Any) -> Periods:
    """The periods at the ``pulses`` (Praat's point process, None: too short) of a ``parselmouth.Sound``."""
    from parselmouth.praat import call

    if pulses is None or call(pulses, "Get number of points") < 3:
        return Periods(np.zeros(0), np.zeros(0))
    times_s = call(pulses, "To Matrix").values[0].astype(np.float64)
    tier = call([sound, pulses], "To AmplitudeTier (period)", 0, 0, SHORTEST_S, LONGEST_S, LARGEST_FACTOR)
    amplitudes = np.full(len(times_s), np.nan)
    if call(tier, "Get number of points"):
        at_s, values = call(call(tier, "Down to TableOfReal"), "To Matrix").values.T
        amplitudes[np.searchsorted(times_s, at_s)] = values
    return Periods(times_s, amplitudes)


def _local(times_s: Floats, amplitudes: Floats) -> tuple[float, int]:
    known = np.isfinite(amplitudes)
    at_s, values = times_s[known], amplitudes[known]
    steps_s, before, after = np.diff(at_s), values[:-1], values[1:]
    near = (steps_s >= SHORTEST_S) & (steps_s <= LONGEST_S)
    near &= np.maximum(before, after) <= LARGEST_AMPLITUDE_FACTOR * np.minimum(before, after)
    if not near.any():
        return 0.0, 0
    # Praat's mean leaves out the last period.
    return float(np.mean(np.abs(after - before)[near]) / np.mean(before)), int(near.sum())
