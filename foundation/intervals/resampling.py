"""A percentile bootstrap: how often each unit is drawn, the same for everything that is compared; and its interval."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np

from apportion.foundation.arrays import Floats

Statistic = Callable[[Floats], Floats]
"""From sums over units [shape=(..., C)], or of one column [shape=(...)], to the figure; NaN where it is not defined."""
AT_ONCE = 1 << 24
"""Counts that are in memory together, in whole resamples."""


@dataclass(frozen=True)
class Sampling:
    """How intervals are made: ``resamples`` of the units by ``seed``, percentiles that hold ``confidence``."""

    resamples: int = 2000
    seed: int = 0
    confidence: float = 0.95


@lru_cache(maxsize=8)
def drawn_counts(units: int, resamples: int, seed: int) -> Floats:
    """How often each of U units is drawn, with replacement, in each of B resamples.

    Returns rows sum to U; read-only.
    """
    (result,) = _drawn(units, resamples, seed, resamples)
    result.flags.writeable = False
    return result


def _drawn(units: int, resamples: int, seed: int, rows: int) -> Iterator[Floats]:
    """The counts, ``rows`` resamples at a time; a resample by itself, since draws take more memory than counts."""
    rng = np.random.default_rng(seed)
    for start in range(0, resamples, rows):
        block = np.empty((min(rows, resamples - start), units))
        for counts in block:
            counts[:] = np.bincount(rng.integers(0, units, size=units), minlength=units)
        yield block


def drawn_sums(sums: Floats, sampling: Sampling, *, whole: bool = False) -> Floats:
    """What each resample of the U units that ``sums`` [shape=(U, C) or (U,)] is of adds up to [shape=(B, C) or (B,)].

    ``whole`` puts the sum over all units before them. The counts of many units are drawn anew, some resamples at a
    time: memory does not grow with their number.
    """
    every = np.ones((int(whole), len(sums)))
    units, resamples = len(sums), sampling.resamples
    if units * resamples <= AT_ONCE:
        return np.concatenate([every, drawn_counts(units, resamples, sampling.seed)]) @ sums
    blocks = _drawn(units, resamples, sampling.seed, max(1, AT_ONCE // units))
    return np.concatenate([block @ sums for block in chain([every], blocks)])


def percentile_interval(replicates: Floats, confidence: float) -> tuple[float, float] | tuple[None, None]:
    """The ends between which ``confidence`` of the replicates lie [shape=(B,)].

    Resamples in which the figure is not defined (NaN) are passed over; where less than half of them define one, there
    is no interval.

    >>> percentile_interval(np.array([0.0, 1.0, 2.0, np.nan]), 0.5)
    (0.5, 1.5)
    >>> percentile_interval(np.array([1.0, np.nan, np.nan]), 0.5)
    (None, None)
    """
    defined = replicates[np.isfinite(replicates)]
    if 2 * len(defined) < len(replicates):
        return None, None
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def interval(sums: Floats, statistic: Statistic, sampling: Sampling) -> tuple[float, float] | tuple[None, None]:
    """The interval of a figure that depends on U units through sums; none with a single unit.

    ``sums`` (float64 [shape=(U, C) or (U,)]): what each unit contributes. ``statistic``: the figure, from the sums over
    all units that were drawn.
    """
    if len(sums) < 2:
        return None, None
    replicates = statistic(drawn_sums(sums, sampling))
    return percentile_interval(replicates, sampling.confidence)
