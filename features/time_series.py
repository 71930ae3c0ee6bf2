"""A behaviour over time, and its mean and coverage in any stretch of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import ArrayLike

from apportion.foundation.arrays import Floats

Span = tuple[float, float]
"""Start and end in seconds on the session clock."""
EDGE_S = 1e-6
"""Cells that are less apart adjoin: their edges are rounded."""


@dataclass(frozen=True)
class Series:
    """F values of one behaviour. ``values`` [F] float64, NaN where it could not be observed.

    ``values[i]`` holds from ``starts_s[i]`` to ``ends_s[i]`` [F] float64, seconds; cells are in order and do not
    overlap. ``decibel`` values are averaged as energy (mean of 10^(x/10)), not as decibels: the two differ by
    more than 10 dB on speech with pauses.
    """

    starts_s: Floats
    ends_s: Floats
    values: Floats
    decibel: bool = False

    @property
    def times_s(self) -> Floats:
        """Middle of each cell [F], seconds."""
        return (self.starts_s + self.ends_s) / 2

    def mean(self, spans: Sequence[Span], length_s: float) -> tuple[float | None, float]:
        """Mean over ``spans`` (disjoint) weighted by time, and coverage.

        Coverage is the observed share, 0 to 1, of ``length_s``. The mean is None where nothing was observed.
        """
        weighted, observed_s = 0.0, 0.0
        for start_s, end_s in spans:
            first = int(np.searchsorted(self.ends_s, start_s, side="right"))
            last = int(np.searchsorted(self.starts_s, end_s, side="left"))
            values = self.values[first:last]
            overlap_s = np.minimum(self.ends_s[first:last], end_s) - np.maximum(self.starts_s[first:last], start_s)
            seen = np.isfinite(values) & (overlap_s > 0)
            linear = 10.0 ** (values[seen] / 10.0) if self.decibel else values[seen]
            weighted += float(linear @ overlap_s[seen])
            observed_s += float(overlap_s[seen].sum())
        if observed_s <= 0 or length_s <= 0:
            return None, 0.0
        mean = weighted / observed_s
        if self.decibel:
            mean = 10.0 * float(np.log10(mean))
        return mean, min(1.0, observed_s / length_s)

    def where_on(self) -> tuple[Span, ...]:
        """Stretches of adjoining cells in which the value is 1, seconds, in order."""
        on = self.values == 1.0
        apart = np.flatnonzero((on[1:] != on[:-1]) | (self.starts_s[1:] - self.ends_s[:-1] > EDGE_S)) + 1
        edges = pairwise([0, *apart.tolist(), len(on)])
        return tuple((float(self.starts_s[a]), float(self.ends_s[b - 1])) for a, b in edges if b > a and on[a])

    def within(self, span: Span) -> Series:
        """The cells whose middle lies in ``span``; its end does not belong to it."""
        first, last = np.searchsorted(self.times_s, span)
        return Series(self.starts_s[first:last], self.ends_s[first:last], self.values[first:last], self.decibel)

    def resampled(self, rate_hz: float) -> Series:
        """Means over steps of ``1 / rate_hz`` seconds; unobserved steps are left out."""
        if not len(self.values):
            return self
        first, last = int(np.floor(self.starts_s[0] * rate_hz)), int(np.ceil(self.ends_s[-1] * rate_hz))
        edges = np.arange(first, last + 1) / rate_hz
        means = [self.mean([(a, b)], b - a)[0] for a, b in pairwise(edges.tolist())]
        kept = np.array([m is not None for m in means], dtype=bool)
        values = np.array([m for m in means if m is not None], dtype=np.float64)
        return Series(edges[:-1][kept], edges[1:][kept], values, self.decibel)


def count_events(events: Sequence[Span], spans: Sequence[Span]) -> int:
    """How many events have their middle in ``spans``; the end of a span does not belong to it."""
    return sum(a <= (start_s + end_s) / 2 < b for start_s, end_s in events for a, b in spans)


def smoothed(times_s: ArrayLike, values: ArrayLike, width_s: float) -> Floats:
    """Median of the known samples within ``width_s / 2`` of each of F samples [F]; NaN stays NaN.

    A median, because the border between two states stays where it is and one wild sample counts for nothing.
    """
    times, given = np.asarray(times_s, dtype=np.float64), np.asarray(values, dtype=np.float64)
    known = np.flatnonzero(np.isfinite(given))
    # A rounding error of the time stamps may not decide about a sample at the border.
    reach_s = width_s / 2 + 1e-6
    first = np.searchsorted(times[known], times[known] - reach_s, side="left")
    last = np.searchsorted(times[known], times[known] + reach_s, side="right")
    smooth = np.full(len(given), np.nan)
    smooth[known] = [median(given[known[a:b]].tolist()) for a, b in zip(first, last, strict=True)]
    return smooth


def sampled(times_s: ArrayLike, values: ArrayLike, hold_s: float, decibel: bool = False) -> Series:
    """A series from F point samples: each holds half-way to its neighbours, at most ``hold_s / 2`` to each side.

    A gap longer than ``hold_s`` between samples is therefore unobserved time. The first and the last sample hold
    for half a usual step outwards.
    """
    times = np.asarray(times_s, dtype=np.float64)
    half = np.diff(times) / 2 if len(times) > 1 else np.zeros(0)
    edge = np.full(min(len(times), 1), np.median(half) if len(half) else hold_s / 2)
    before = np.minimum(np.concatenate([edge, half]), hold_s / 2)
    after = np.minimum(np.concatenate([half, edge]), hold_s / 2)
    return Series(times - before, times + after, np.asarray(values, dtype=np.float64), decibel)
