"""The variance of a mean whose numbers share items and annotators: both come again, and both would differ next time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foundation.arrays import Floats

CONFIDENCE = 0.95
ALIKE = 1e-12
"""A standard error below this share of the mean is rounding: all answers are equal."""


@dataclass(frozen=True)
class MeanOfAnswers:
    """A mean over answers with its interval and the p-value of its being zero.

    ``low`` and ``high`` are None where nothing says how much other people and items would differ: with a single item or
    annotator, or where all answers are equal. ``p`` is None with a single one.
    """

    value: float
    low: float | None
    high: float | None
    p: float | None
    answers: int
    items: int
    annotators: int


def two_way_variance(deviations: Floats, items: NDArray[np.int64], annotators: NDArray[np.int64]) -> float:
    """The variance of a sum of N deviations from their mean, clustered by item and by annotator.

    Cameron, Gelbach and Miller (2011), "Robust inference with multiway clustering", Eq. 2.10: that clustered by items,
    plus that by annotators, less that by both (an answer each, here), each with G / (G - 1) of its own G clusters. It
    is taken to be no less than the larger of the one-way variances: less happens by chance only, where one of them is
    near that of single answers.

    Parameters
    ----------
    deviations : float64 [shape=(N,)]
        In units of the sum: (x - mean) / N for a mean.
    """
    by_item, by_annotator = (_clustered(deviations, clusters) for clusters in (items, annotators))
    alone = len(deviations) / max(len(deviations) - 1, 1) * float(deviations @ deviations)
    return max(by_item + by_annotator - alone, by_item, by_annotator)


def mean_of_answers(
    values: Floats, items: NDArray[np.int64], annotators: NDArray[np.int64], confidence: float = CONFIDENCE
) -> MeanOfAnswers | None:
    """The mean of answers, with a t interval of one less degrees of freedom than the fewer of items and annotators.

    Parameters
    ----------
    values : float64 [shape=(N,)]
        NaN where there is no answer; those count nowhere.
    items, annotators : int64 [shape=(N,)]

    Returns
    -------
    MeanOfAnswers or None
        None without an answer. Where all answers are equal, p is that of a sign test in which each of the fewer of
        items and annotators counts once: they may be alike for a reason that the next one does not share.
    """
    from scipy.stats import t

    known = np.isfinite(values)
    if not known.any():
        return None
    values, items, annotators = values[known], items[known], annotators[known]
    count, clusters = len(values), (len(np.unique(items)), len(np.unique(annotators)))
    mean = float(values.mean())
    if min(clusters) < 2:
        return MeanOfAnswers(mean, None, None, None, count, *clusters)
    error = float(np.sqrt(two_way_variance((values - mean) / count, items, annotators)))
    freedom = min(clusters) - 1
    if error <= ALIKE * max(1.0, abs(mean)):
        alike = 1.0 if mean == 0 else min(1.0, 2 * 0.5 ** min(clusters))
        return MeanOfAnswers(mean, None, None, alike, count, *clusters)
    half = float(t.ppf((1 + confidence) / 2, freedom)) * error
    p = float(2 * t.sf(abs(mean) / error, freedom))
    return MeanOfAnswers(mean, mean - half, mean + half, p, count, *clusters)


def _clustered(deviations: Floats, clusters: NDArray[np.int64]) -> float:
    _, at = np.unique(clusters, return_inverse=True)
    sums = np.bincount(at, weights=deviations)
    return len(sums) / max(len(sums) - 1, 1) * float(sums @ sums)
