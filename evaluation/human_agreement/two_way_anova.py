"""The variance of a mean whose numbers share items and annotators: both come again, and both would differ next time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apportion.foundation.arrays import Floats

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

    ``deviations`` float64 [shape=(N,)]: in units of the sum: (x - mean) / N for a mean.
    """
    by_item, by_annotator = (_clustered(deviations, clusters) for clusters in (items, annotators))
    alone = len(deviations) / max(len(deviations) - 1, 1) * float(deviations @ deviations)
    return max(by_item + by_annotator - alone, by_item, by_annotator)


def mean_of_answers(
    values: Floats, items: NDArray[np.int64], annotators: NDArray[np.int64], confidence: float = CONFIDENCE
) -> MeanOfAnswers | None:
    """The mean of answers, with a t interval of one less degrees of freedom than the fewer of items and annotators.

    ``values`` float64 [shape=(N,)]: NaN where there is no answer; those count nowhere. ``items``, ``annotators`` int64
    [shape=(N,)]. None without an answer. Where all answers are equal, p is that of a sign test in which each of
    the fewer of items and annotators counts once: they may be alike for a reason that the next one does not share.
    """
    known = np.isfinite(values)
    if not known.any():
        return None
    values, items, annotators = values[known], items[known], annotators[known]
    mean = float(values.mean())
    return _judged(mean, (values - mean) / len(values), items, annotators, confidence)


def difference_of_means(
    one: Floats,
    other: Floats,
    items: NDArray[np.int64],
    annotators: NDArray[np.int64],
    confidence: float = CONFIDENCE,
) -> MeanOfAnswers | None:
    """The mean of one system's values less the other's where few answers judge both, else as `mean_of_answers`.

    Each mean is over all of its own answers; where every answer judges both, it is the mean of their differences, with
    the same interval.

    ``one``, ``other`` float64 [shape=(N,)]: NaN where an answer does not judge the system. ``items``, ``annotators``
    int64 [shape=(N,)]. None where a system has no answer.
    """
    either = np.isfinite(one) | np.isfinite(other)
    values = np.stack([one[either], other[either]])
    known = np.isfinite(values)
    counts = known.sum(axis=1)
    if not counts.all():
        return None
    means = np.nansum(values, axis=1) / counts
    deviations = np.where(known, (values - means[:, None]) / counts[:, None], 0.0)
    difference = float(means[0] - means[1])
    return _judged(difference, deviations[0] - deviations[1], items[either], annotators[either], confidence)


def _judged(
    value: float, deviations: Floats, items: NDArray[np.int64], annotators: NDArray[np.int64], confidence: float
) -> MeanOfAnswers:
    """A figure from its answers' shares in it [shape=(N,)], each less what it would be on average."""
    from scipy.stats import t

    count, clusters = len(deviations), (len(np.unique(items)), len(np.unique(annotators)))
    if min(clusters) < 2:
        return MeanOfAnswers(value, None, None, None, count, *clusters)
    error = float(np.sqrt(two_way_variance(deviations, items, annotators)))
    freedom = min(clusters) - 1
    if error <= ALIKE * max(1.0, abs(value)):
        alike = 1.0 if value == 0 else min(1.0, 2 * 0.5 ** min(clusters))
        return MeanOfAnswers(value, None, None, alike, count, *clusters)
    half = float(t.ppf((1 + confidence) / 2, freedom)) * error
    p = float(2 * t.sf(abs(value) / error, freedom))
    return MeanOfAnswers(value, value - half, value + half, p, count, *clusters)


def _clustered(deviations: Floats, clusters: NDArray[np.int64]) -> float:
    _, at = np.unique(clusters, return_inverse=True)
    sums = np.bincount(at, weights=deviations)
    return len(sums) / max(len(sums) - 1, 1) * float(sums @ sums)
