"""Percentile bootstrap over sessions, with the same resamples for everything that is compared."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.estimate import IntervalEstimate, Missing
from apportion.foundation.intervals.resampling import Statistic, drawn_counts, percentile_interval
from apportion.foundation.tables.numbers import fixed


@dataclass(frozen=True, eq=False)
class BootstrapResult:
    """A figure and its bootstrap replicates, before it is summarised.

    ``values`` float64 [shape=(K,)]: the figure of each of K training seeds on the sessions as they are. ``replicates``
    float64 [shape=(B,)]: the mean over seeds on each of B resamples of the sessions. ``sessions``: S, how many sessions
    were resampled.
    """

    values: Floats
    replicates: Floats
    sessions: int

    @property
    def value(self) -> float:
        """The mean over seeds."""
        return float(self.values.mean())


def resample_counts(sessions: int, settings: EvaluationSettings) -> Floats:
    """How often each session is drawn in each resample.

    Depends on the number of sessions and the settings alone, so that two figures over the same sessions are
    resampled alike: their difference is a paired one.

    Returns float64 [shape=(B, S)]: rows sum to S; read-only.
    """
    return drawn_counts(sessions, settings.bootstrap, settings.seed)


def resample(sums: Floats, statistic: Statistic, settings: EvaluationSettings) -> BootstrapResult:
    """Bootstrap a figure that depends on the sessions through C sums.

    ``sums`` float64 [shape=(K, S, C)]: what each session contributes, for each of K seeds. ``statistic``: the figure,
    from the C sums over all sessions.
    """
    counts = resample_counts(sums.shape[1], settings)
    replicates = np.stack([statistic(counts @ of_seed) for of_seed in sums])  # (K, B)
    return BootstrapResult(statistic(sums.sum(axis=1)), replicates.mean(axis=0), sums.shape[1])


def ratio(sums: Floats) -> Floats:
    """The first sum over the second: a mean, where they are a total and a count [shape=(..., 2) -> (...)]."""
    with np.errstate(invalid="ignore", divide="ignore"):
        quotient: Floats = sums[..., 0] / sums[..., 1]
    return quotient


def difference_of_ratios(sums: Floats) -> Floats:
    """The ratio of the first two sums less that of the others: a difference of means [shape=(..., 4) -> (...)]."""
    return ratio(sums[..., :2]) - ratio(sums[..., 2:])


def paired_difference(left: BootstrapResult, right: BootstrapResult) -> BootstrapResult:
    """``left`` minus ``right`` on the same resamples of the same sessions. Raises ValueError: the two are not over the
    same sessions, so that their resamples do not belong together.
    """
    if left.sessions != right.sessions or len(left.replicates) != len(right.replicates):
        raise ValueError(f"figures over {left.sessions} and {right.sessions} sessions cannot be paired")
    difference = np.array([left.value - right.value])
    return BootstrapResult(difference, left.replicates - right.replicates, left.sessions)


def difference(left: BootstrapResult | Missing, right: BootstrapResult | Missing) -> BootstrapResult | Missing:
    """The same of figures that may not be there: then the first reason why."""
    if isinstance(left, Missing):
        return left
    return right if isinstance(right, Missing) else paired_difference(left, right)


def estimate(sampled: BootstrapResult, confidence: float) -> Estimate:
    """The figure with its percentile interval.

    Resamples in which the figure is not defined (no happy face among them, say) are passed over. There is no
    interval with a single session, nor where less than half of the resamples define one.
    """
    seed_sd = float(sampled.values.std(ddof=1)) if len(sampled.values) > 1 else None
    low, high = percentile_interval(sampled.replicates, confidence) if sampled.sessions > 1 else (None, None)
    return Estimate(sampled.value, low, high, sampled.sessions, seed_sd)


__all__ = ["Estimate", "Figure", "Missing"]


@dataclass(frozen=True)
class Estimate(IntervalEstimate):
    """One figure over S ``sessions``, with its bootstrap interval over them.

    ``seed_sd`` is the standard deviation (ddof 1) of the figure over training seeds, None with a single seed.
    """

    sessions: int
    seed_sd: float | None = None

    def text(self, decimals: int, *, sign: bool = False) -> str:
        """Value, spread over seeds and interval."""
        spread = "" if self.seed_sd is None else f" ±{fixed(self.seed_sd, decimals)}"
        return f"{fixed(self.value, decimals, sign=sign)}{spread}{self.ends(decimals, sign=sign)}"


Figure = Estimate | Missing


MOST = 1_000_000
"""Above this many sessions the advice is that the methods are the same."""


def sessions_to_tell(difference: BootstrapResult, settings: EvaluationSettings) -> int | None:
    """Test sessions with which the observed paired difference would be found with probability ``settings.power``.

    A two-sided test at ``1 - settings.confidence``; the standard error is that of the bootstrap, which shrinks
    with the square root of the number of sessions.

    None where the difference is zero, or so small that more than a million sessions would be needed.
    """
    error = float(np.nanstd(difference.replicates))
    if difference.value == 0 or not math.isfinite(error):
        return None
    from scipy.special import ndtri

    reach = ndtri((1 + settings.confidence) / 2) + ndtri(settings.power)
    needed = difference.sessions * (reach * error / difference.value) ** 2
    return math.ceil(needed) if needed <= MOST else None
