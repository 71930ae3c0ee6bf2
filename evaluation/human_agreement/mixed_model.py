"""A mixed model beside the clustered intervals: items and annotators as crossed random effects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apportion.evaluation.human_agreement.two_way_anova import ALIKE, CONFIDENCE
from apportion.foundation.arrays import Floats

START, LARGEST = 0.25, 1e6
"""Variances of both effects, in units of the residual's, from which the likelihood is climbed, and how far. It is not
climbed over their roots: there it is level at 0 in every direction, and a search that came there would stay."""


@dataclass(frozen=True)
class MixedMean:
    """A mean of answers by REML with the variance of items, annotators and what is left.

    ``low`` and ``high`` are those of a t with one less than the fewer of items and annotators, as
    `apportion.evaluation.human_agreement.two_way_anova` has it; ``error`` is the standard error.
    """

    value: float
    error: float
    low: float
    high: float
    p: float
    item_variance: float
    annotator_variance: float
    residual_variance: float


def mixed_mean(
    values: Floats, items: NDArray[np.int64], annotators: NDArray[np.int64], confidence: float = CONFIDENCE
) -> MixedMean | None:
    """The mean of ``value = mean + item + annotator + rest``, all three normal and independent, by REML.

    The profiled criterion of Bates, Maechler, Bolker and Walker (2015), "Fitting linear mixed-effects models using
    lme4", Eq. 42, for an intercept and two crossed effects. Items, of which no two meet, are taken out of the system
    first, so that it is as large as there are annotators. Marks are taken for numbers (a linear model of a share), as
    t-tests of marks do.

    ``values`` float64 [shape=(N,)]: NaN where there is no answer; those count nowhere. ``items``, ``annotators`` int64
    [shape=(N,)]. None where items, annotators or answers are too few to tell the three apart, or all answers
    are equal.
    """
    from scipy.optimize import minimize
    from scipy.stats import t

    known = np.isfinite(values)
    values, items, annotators = values[known], items[known], annotators[known]
    model = _Crossed.of(values, items, annotators)
    sizes = model.meetings.shape
    fewer = min(sizes)
    if fewer < 2 or len(values) <= max(sizes) + 1 or float(np.std(values)) <= ALIKE * max(1.0, abs(model.centre)):
        return None
    found = minimize(
        model.criterion, np.full(2, START), method="L-BFGS-B", bounds=[(0.0, LARGEST)] * 2, options={"ftol": 1e-12}
    )
    mean, variance, residual = model.solution(found.x)
    error = float(np.sqrt(variance))
    half = float(t.ppf((1 + confidence) / 2, fewer - 1)) * error
    p = float(2 * t.sf(abs(mean) / error, fewer - 1))
    by_item, by_annotator = (float(ratio * residual) for ratio in found.x)
    return MixedMean(mean, error, mean - half, mean + half, p, by_item, by_annotator, residual)


@dataclass(frozen=True, eq=False)
class _Crossed:
    """What the criterion needs of the data: how often items and annotators meet, and their sums of deviations."""

    count: int
    centre: float
    squares: float
    meetings: Floats
    of_items: Floats
    """How many answers each item has, and their deviations' sum [shape=(I, 2)]."""
    of_annotators: Floats
    """The same of annotators [shape=(J, 2)]."""

    @classmethod
    def of(cls, values: Floats, items: NDArray[np.int64], annotators: NDArray[np.int64]) -> _Crossed:
        names, item_at = np.unique(items, return_inverse=True)
        people, person_at = np.unique(annotators, return_inverse=True)
        meetings = np.zeros((len(names), len(people)))
        np.add.at(meetings, (item_at, person_at), 1.0)
        centre = float(values.mean()) if len(values) else 0.0
        # Less their mean, so that no digits are lost in the squares.
        rest = values - centre
        of_items = np.stack([meetings.sum(axis=1), np.bincount(item_at, rest, len(names))], axis=1)
        of_annotators = np.stack([meetings.sum(axis=0), np.bincount(person_at, rest, len(people))], axis=1)
        return cls(len(values), centre, float(rest @ rest), meetings, of_items, of_annotators)

    def criterion(self, ratios: Floats) -> float:
        """Minus twice the profiled restricted log-likelihood, but for a constant (Eq. 42)."""
        of_ones, _, squares, log_determinant = self._reduced(ratios)
        return log_determinant + float(np.log(of_ones)) + (self.count - 1) * float(np.log(squares))

    def solution(self, ratios: Floats) -> tuple[float, float, float]:
        """The mean, its variance and the residual variance, at the effects' variances over the residual's."""
        of_ones, crossed, squares, _ = self._reduced(ratios)
        residual = squares / (self.count - 1)
        return self.centre + crossed / of_ones, residual / of_ones, residual

    def _reduced(self, ratios: Floats) -> tuple[float, float, float, float]:
        """1' V^-1 1, 1' V^-1 y, the residuals' squares under V^-1, log |V|; V in units of the residual variance."""
        item, annotator = np.sqrt(ratios)
        own = 1 + item**2 * self.of_items[:, 0]
        shared = item * annotator * self.meetings
        left = np.diag(1 + annotator**2 * self.of_annotators[:, 0]) - shared.T @ (shared / own[:, None])
        factor = np.linalg.cholesky(left)
        by_item = item * self.of_items
        weighed = by_item / own[:, None]
        by_annotator = np.linalg.solve(factor, annotator * self.of_annotators - shared.T @ weighed)
        explained = by_item.T @ weighed + by_annotator.T @ by_annotator
        of_ones, crossed = self.count - float(explained[0, 0]), -float(explained[0, 1])
        squares = self.squares - float(explained[1, 1]) - crossed**2 / of_ones
        return of_ones, crossed, squares, float(np.log(own).sum() + 2 * np.log(np.diag(factor)).sum())
