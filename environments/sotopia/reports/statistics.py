"""Correlation, agreement and means of scores, with intervals from a bootstrap over episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from apportion.environments.report_tables.table import Figure, mean, sums_by_episode, value_of
from apportion.environments.sotopia.reports.raters import JUDGE, PEOPLE, SECOND
from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling

FEWEST_PAIRS = 3
"""With two pairs every correlation is 1 or -1."""
_ROUNDING = 1e-12
"""Of a sum of squares, what is no spread."""


def pearson(episodes: Sequence[str], x: Sequence[float], y: Sequence[float], sampling: Sampling) -> Figure:
    """Pearson's correlation of pairs of scores [shape=(N,)], with its two-sided p.

    Fewer than 3 pairs, or one side without spread, give none: scipy would say NaN.
    """
    if len(x) < FEWEST_PAIRS:
        return Missing(f"fewer than {FEWEST_PAIRS} pairs ({len(x)})", f"{JUDGE}; {PEOPLE}")
    a, b = np.asarray(x, float), np.asarray(y, float)
    for side, values in (("judge", a), ("people", b)):
        if np.ptp(values) == 0:
            return Missing(f"constant: all {len(values)} scores of the {side} are {values[0]:g}")
    p = float(stats.pearsonr(a, b).pvalue)
    # Deviations from the mean, so that sums of squares lose no digits.
    a, b = a - a.mean(), b - b.mean()
    value = value_of(
        sums_by_episode(episodes, np.ones(len(a)), a, b, a * a, b * b, a * b), _correlation, len(a), sampling
    )
    return replace(value, p=p)


def students_t(x: Sequence[float], y: Sequence[float]) -> float | Missing:
    """The two-sided p of Student's t-test (equal variances) that two groups of scores have one mean."""
    if min(len(x), len(y)) < 2:
        return Missing(f"a t-test needs two scores on each side, here are {len(x)} and {len(y)}")
    if np.ptp(x) == 0 and np.ptp(y) == 0:
        return Missing("no t-test: no spread on either side")
    sides = [value for side in (x, y) for value in (np.mean(side), np.std(side, ddof=1), len(side))]
    return float(stats.ttest_ind_from_stats(*sides, equal_var=True).pvalue)


def binned(scores: Sequence[float], scale: tuple[float, float], bins: int) -> list[int]:
    """In which of ``bins`` equally wide parts of the scale each score lies; an inner border belongs to the upper one.

    >>> binned([0, 1, 2, 9, 10], (0, 10), 5)
    [0, 0, 1, 4, 4]
    """
    low, high = scale
    return [min(int((score - low) * bins / (high - low)), bins - 1) for score in scores]


def agreeing(bins: Sequence[int]) -> float:
    """The share of pairs of raters of one item (two at least) who chose the same bin.

    >>> agreeing([1, 1, 2])
    0.3333333333333333
    """
    raters = len(bins)
    counts = np.unique(bins, return_counts=True)[1]
    return float((counts * (counts - 1)).sum() / (raters * (raters - 1)))


def randolph(rated: Sequence[tuple[str, Sequence[int]]], bins: int, sampling: Sampling) -> tuple[Figure, Figure]:
    """Pairwise agreement and Randolph's free-marginal kappa of several raters (Randolph, 2005).

    kappa = (P - 1 / bins) / (1 - 1 / bins), where P is the mean over items of `agreeing`.

    ``rated``: A rated thing each: its episode, and the bin that each rater chose (`binned`). One with a single rater
    has no pairs, and is left out. ``bins``: How many there are to choose from, 2 at least.
    """
    several = [(episode, chosen) for episode, chosen in rated if len(chosen) > 1]
    agreed = mean([episode for episode, _ in several], [agreeing(chosen) for _, chosen in several], sampling)
    if isinstance(agreed, Missing):
        none = Missing("nobody was rated by two people", SECOND)
        return none, none
    chance = 1 / bins

    def beyond(value: float | None) -> float | None:
        return None if value is None else (value - chance) / (1 - chance)

    kappa = (agreed.value - chance) / (1 - chance)
    return agreed, replace(agreed, value=kappa, low=beyond(agreed.low), high=beyond(agreed.high))


def _correlation(sums: Floats) -> Floats:
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    # A resample may have one and the same score on a side: what is left of its spread is rounding, and no correlation.
    spreads = [np.where(n * ss - s * s > _ROUNDING * n * ss, n * ss - s * s, np.nan) for s, ss in ((x, xx), (y, yy))]
    ratio: Floats = np.clip((n * xy - x * y) / np.sqrt(spreads[0] * spreads[1]), -1.0, 1.0)
    return ratio
