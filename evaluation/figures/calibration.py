"""Calibration of the session score: whether a predicted score can be taken at its word.

The regression of given on predicted scores is Mincer and Zarnowitz's (1969) and, for risks, Cox's (1958); the expected
calibration error by quantile bins is Naeini et al.'s (2015), here for scores instead of probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, Missing, resample
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats

CONSTANT = 1e-9
"""Predictions whose range is below this share of their size are constant: the rest is rounding."""
FEWEST = 10
"""Episodes that a bin has to hold: the mean of fewer says more of chance than of the model."""
NO_LINE = Missing("a constant prediction has no regression line")


@dataclass(frozen=True)
class Calibration:
    """Slope, intercept and expected calibration error of a reward model's session scores."""

    slope: BootstrapResult | Missing
    intercept: BootstrapResult | Missing
    error: BootstrapResult | Missing

    @classmethod
    def none(cls, why: Missing) -> Calibration:
        """None of the three, for one reason."""
        return cls(why, why, why)


def calibration(held: TestSet, values: Floats, offset: float, settings: EvaluationSettings) -> Calibration:
    """How given scores lie about predicted ones, P = offset + sum_t r_theta.

    ``held``: E episodes with N target turns. ``values`` float64 [shape=(K, N)]: r_theta(s_t, a_t), one row a seed, in
    units of the score. ``offset``: what the model adds to the sum. ``slope`` (no unit) and ``intercept`` (units
    of the score) are Missing where a seed predicts one score for all; ``error`` is in units of the score.
    """
    predicted = offset + held.totals(values)
    return Calibration(*_line(held, predicted, settings), _error(held, predicted, settings))


def _line(
    held: TestSet, predicted: Floats, settings: EvaluationSettings
) -> tuple[BootstrapResult | Missing, BootstrapResult | Missing]:
    """Least squares of R = intercept + slope * P over episodes [predicted: shape=(K, E)]."""
    if any(_constant(row) for row in predicted):
        return NO_LINE, NO_LINE
    # Both sides less their means: squares of scores near 90 would eat the digits in which predictions differ.
    means = np.broadcast_to(predicted.mean(axis=1, keepdims=True), predicted.shape)
    middle = float(held.scores.mean())
    given, predictions = np.broadcast_to(held.scores - middle, predicted.shape), predicted - means
    parts = [np.ones_like(predictions), predictions, given, predictions * predictions, predictions * given, means]
    sums = np.stack([held.episodes_by_session(part) for part in parts], axis=-1)

    def intercept(totals: Floats) -> Floats:
        centre: Floats = _mean(totals, 1) + _mean(totals, 5)
        return middle + _mean(totals, 2) - _slope(totals) * centre

    return resample(sums, _slope, settings), resample(sums, intercept, settings)


def _error(held: TestSet, predicted: Floats, settings: EvaluationSettings) -> BootstrapResult:
    """sum_b n_b / n * |mean of R - P in bin b|, bins of equally many episodes by P."""
    wanted = max(1, min(settings.calibration_bins, len(held.episodes) // FEWEST))
    rows = []
    for row in predicted:
        inside = bins(row, wanted)[:, None] == np.arange(wanted)  # (E, bins)
        gaps = np.where(inside, (held.scores - row)[:, None], 0.0)
        rows.append(held.episodes_by_session(np.vstack([np.ones(len(row)), gaps.T])).T)
    return resample(np.stack(rows), lambda totals: np.abs(totals[..., 1:]).sum(axis=-1) / totals[..., 0], settings)


def bins(predicted: Floats, wanted: int) -> NDArray[np.int64]:
    """Which of ``wanted`` quantile bins each prediction falls into; equal predictions share one [shape=(E,)]."""
    if _constant(predicted):
        return np.zeros(len(predicted), dtype=np.int64)
    edges = np.quantile(predicted, np.arange(1, wanted) / wanted)
    return np.searchsorted(edges, predicted, side="right").astype(np.int64)


def _constant(predicted: Floats) -> bool:
    return bool(np.ptp(predicted) <= CONSTANT * max(1.0, float(np.abs(predicted).max())))


def _mean(sums: Floats, column: int) -> Floats:
    mean: Floats = sums[..., column] / sums[..., 0]
    return mean


def _slope(sums: Floats) -> Floats:
    """Covariance over variance, from the sums of 1, P, R, P^2 and P R; NaN where P does not vary."""
    n, predictions, given, square, product = np.moveaxis(sums, -1, 0)[:5]
    spread = n * square - predictions * predictions
    with np.errstate(invalid="ignore", divide="ignore"):
        slope: Floats = np.where(spread > CONSTANT * n * square, (n * product - predictions * given) / spread, np.nan)
    return slope
