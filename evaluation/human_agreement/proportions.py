"""A system's share of answers that mark it, and Table 1's way of telling it: mean and sd over splits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apportion.evaluation.human_agreement.two_way_anova import CONFIDENCE, two_way_variance
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.proportion import wilson


@dataclass(frozen=True)
class SplitMean:
    """Mean and standard deviation (ddof 0, as the paper's figures are) of the means of some splits of the items."""

    mean: float
    sd: float


def over_splits(values: Floats, items: NDArray[np.int64], splits: int = 3) -> SplitMean:
    """A mean as Table 1, LLM-GELI, has it: over splits of the items, with the sd between them.

    The paper's sds are those of three whole percents (0.47 is that of a, a, a + 1 by ddof 0), so its splits are of 100
    answers each. Between three numbers this sd is no standard error and says little of one: beside an interval only.

    ``values`` float64 [shape=(A,)]: NaN where there is no answer. ``items`` int64 [shape=(A,)]: dealt out to the splits
    in the order of their numbers. Raises InputError: fewer answered items than splits.
    """
    known = np.isfinite(values)
    numbers, at = np.unique(items[known], return_inverse=True)
    if len(numbers) < splits:
        raise InputError(
            f"{len(numbers)} items with answers cannot be dealt out to {splits} splits. Name fewer splits."
        )
    means = [float(values[known][at % splits == split].mean()) for split in range(splits)]
    return SplitMean(float(np.mean(means)), float(np.std(means)))


def share_interval(
    values: Floats, items: NDArray[np.int64], annotators: NDArray[np.int64], confidence: float = CONFIDENCE
) -> tuple[float, float | None, float | None] | None:
    """The share of marks and its interval: Wilson's, for as many independent answers as vary as much.

    The variance is two-way clustered (`apportion.evaluation.human_agreement.two_way_anova`); where all answers are
    equal, the answers of an item or annotator, whichever there are fewer of, count as one.

    ``values`` float64 [shape=(A,)]: 1 or 0, NaN where there is no answer. Returns share, low, high; None without an
    answer. No interval of a single item or annotator: nothing says how much the next one would differ.
    """
    known = np.isfinite(values)
    marks = values[known]
    if not len(marks):
        return None
    share = float(marks.mean())
    fewer = min(len(np.unique(items[known])), len(np.unique(annotators[known])))
    if fewer < 2:
        return share, None, None
    variance = two_way_variance((marks - share) / len(marks), items[known], annotators[known])
    effective = min(share * (1 - share) / variance, len(marks)) if variance > 0 else fewer
    return share, *wilson(share, effective, confidence)
