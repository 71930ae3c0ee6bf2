"""Percentile bootstrap over sessions, with the same resamples for everything that is compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apportion.evaluation.confidence_intervals.figure import Estimate
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.resampling import Statistic, drawn_counts, percentile_interval


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


def paired_difference(left: BootstrapResult, right: BootstrapResult) -> BootstrapResult:
    """``left`` minus ``right`` on the same resamples of the same sessions. Raises ValueError: the two are not over the
    same sessions, so that their resamples do not belong together.
    """
    if left.sessions != right.sessions or len(left.replicates) != len(right.replicates):
        raise ValueError(f"figures over {left.sessions} and {right.sessions} sessions cannot be paired")
    difference = np.array([left.value - right.value])
    return BootstrapResult(difference, left.replicates - right.replicates, left.sessions)


def estimate(sampled: BootstrapResult, confidence: float) -> Estimate:
    """The figure with its percentile interval.

    Resamples in which the figure is not defined (no happy face among them, say) are passed over. There is no
    interval with a single session, nor where less than half of the resamples define one.
    """
    seed_sd = float(sampled.values.std(ddof=1)) if len(sampled.values) > 1 else None
    low, high = percentile_interval(sampled.replicates, confidence) if sampled.sessions > 1 else (None, None)
    return Estimate(sampled.value, low, high, sampled.sessions, seed_sd)
