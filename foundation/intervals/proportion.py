"""How often something comes about, with Wilson's interval: of independent trials, and of trials that come in clusters.

Seats of one match share its end: two of one team win together, two of opposing teams never do. Counted as independent
they claim too much or too little, so the number of trials is replaced by how many independent ones would vary as much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.estimate import IntervalEstimate

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Share(IntervalEstimate):
    """A share with its interval.

    ``trials``: of how many trials it is the share. ``clusters``: in how many clusters these came. ``design_effect``:
    how many times the variance is that of as many independent trials; 1 where each is a cluster of its own.
    """

    trials: int
    clusters: int
    design_effect: float


def wilson(share: float, trials: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval of a share (Wilson, 1927, without correction for continuity).

    ``share``: From 0 to 1. ``trials``: Independent ones, more than 0; no whole number where they stand for clustered
    ones.

    >>> tuple(round(end, 4) for end in wilson(0.52, 50))
    (0.3851, 0.652)
    """
    from statistics import NormalDist

    z = NormalDist().inv_cdf((1 + confidence) / 2)
    shrunk = 1 + z * z / trials
    middle = (share + z * z / (2 * trials)) / shrunk
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / shrunk
    # Rounding aside, an end is 0 or 1 only where the share is.
    return (0.0 if share == 0 else max(0.0, middle - half)), (1.0 if share == 1 else min(1.0, middle + half))


def clustered_share(wins: ArrayLike, trials: ArrayLike, confidence: float = CONFIDENCE) -> Share | None:
    """The share of wins among trials that come in clusters; None without a trial.

    Wilson's interval for the number of independent trials that vary as much (Dean and Pagano, 2015, "Evaluating
    confidence interval methods for binomial proportions in clustered surveys"): the variance of the ratio of sums over
    clusters by linearisation, with C / (C - 1). It may be more than the number of trials, where trials of one cluster
    exclude each other. Where all are won, none is, or a single cluster tells nothing of the variance, trials of one
    cluster count as if they always ended alike: (sum of n)^2 / (sum of n^2) of them.

    ``wins``, ``trials`` (whole numbers [shape=(C,)]): A cluster each, ``wins`` at most ``trials``; clusters without a
    trial count nowhere.
    """
    all_trials: Floats = np.asarray(trials, np.float64)
    there = all_trials > 0
    n, won = all_trials[there], np.asarray(wins, np.float64)[there]
    if not len(n):
        return None
    total, clusters = float(n.sum()), len(n)
    share = float(won.sum()) / total
    alike = total**2 / float(n @ n)
    deviations = won - share * n
    variance = float(deviations @ deviations) / total**2 * clusters / max(clusters - 1, 1)
    binomial = share * (1 - share)
    # Deviations that are rounding alone are none: every cluster has the same share.
    tells = clusters > 1 and binomial > 0 and variance * alike > 1e-12
    effective = binomial / variance if tells else alike
    return Share(share, *wilson(share, effective, confidence), round(total), clusters, total / effective)
