"""A percentile bootstrap: how often each unit is drawn, the same for everything that is compared; and its interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from apportion.foundation.arrays import Floats

Statistic = Callable[[Floats], Floats]
"""From sums over units [shape=(..., C)], or of one column [shape=(...)], to the figure; NaN where it is not defined."""


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
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, units, size=(resamples, units))
    offsets = np.arange(resamples)[:, None] * units
    counts = np.bincount((drawn + offsets).ravel(), minlength=resamples * units)
    result = counts.reshape(resamples, units).astype(np.float64)
    result.flags.writeable = False
    return result


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
    replicates = statistic(drawn_counts(len(sums), sampling.resamples, sampling.seed) @ sums)
    return percentile_interval(replicates, sampling.confidence)
