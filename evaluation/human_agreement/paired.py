"""Two systems judged by the same people on the same items: McNemar's test, Holm's correction, a bootstrap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apportion.evaluation.confidence_intervals.bootstrap import difference_of_ratios, ratio
from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.resampling import Sampling, interval


@dataclass(frozen=True)
class McNemar:
    """How many answers mark only the first system, how many only the other, and the exact two-sided p-value."""

    only_first: int
    only_other: int
    p: float


def mcnemar(first: Floats, other: Floats) -> McNemar:
    """McNemar's exact test of two systems' marks.

    It takes answers for independent, which those of one item or one annotator are not: beside
    `apportion.evaluation.human_agreement.two_way_anova`, never instead of it.

    ``first``, ``other`` float64 [shape=(A,)]: 1 where an answer marks the system, 0 where not, NaN where it says
    nothing (such an answer counts nowhere). A half of both is a tie of two, and neither wins it.
    """
    from statsmodels.stats import contingency_tables

    both = np.isfinite(first) & np.isfinite(other)
    marked, against = first[both] > 0, other[both] > 0
    won, lost = int((marked & ~against).sum()), int((against & ~marked).sum())
    return McNemar(won, lost, float(contingency_tables.mcnemar([[0, won], [lost, 0]], exact=True).pvalue))


def item_bootstrap(
    differences: Floats, items: NDArray[np.int64], sampling: Sampling
) -> tuple[float, float] | tuple[None, None]:
    """The percentile interval of a mean difference, items drawn again with all their answers.

    ``differences`` float64 [shape=(A,)]: of two systems in each answer; NaN where it lacks one. ``items`` int64
    [shape=(A,)].
    """
    known = np.isfinite(differences)
    _, at = np.unique(items[known], return_inverse=True)
    sums = np.stack([np.bincount(at, weights=differences[known]), np.bincount(at)], axis=1).astype(np.float64)
    return interval(sums, ratio, sampling)


def unpaired_bootstrap(
    one: Floats, other: Floats, items: NDArray[np.int64], sampling: Sampling
) -> tuple[float, float] | tuple[None, None]:
    """The same of two means that need not be of the same answers.

    ``one``, ``other`` float64 [shape=(A,)]: NaN where an answer does not judge the system. ``items`` int64
    [shape=(A,)].
    """
    _, at = np.unique(items, return_inverse=True)
    columns = [
        np.bincount(at, weights=column)
        for values in (one, other)
        for column in (np.where(np.isfinite(values), values, 0.0), np.isfinite(values).astype(np.float64))
    ]
    return interval(np.stack(columns, axis=1), difference_of_ratios, sampling)
