"""A kind of turn against the other turns of the same conversations: how far apart their rewards lie, and how surely.

Rewards of one conversation are compared with each other alone, so that a kind is not blamed for the conversations that
it happens in. With x_t = 1 for turns of the kind, and both taken from their episode's mean,

    difference = sum_t x~_t r~_t / sum_t x~_t^2          the within-episode (fixed effects) regression of r on x

Sessions are what is drawn: its variance is that of the sums over sessions (Liang and Zeger, 1986, "Longitudinal data
analysis using generalized linear models"), its t has as many degrees of freedom as there are effective sessions, less
one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apportion.evaluation.error_slices.turns import TargetTurns
from apportion.foundation.arrays import Floats

ROUNDING = 1e-9
"""Rewards of an episode that differ by less than this share of the largest one are alike."""


@dataclass(frozen=True, eq=False)
class SliceContrasts:
    """M kinds against the rest of their conversations.

    - ``difference`` float64 [shape=(M,)]: mean reward of the kind less that of the others in the same episodes; NaN
      where no episode has both.
    - ``t`` float64 [shape=(M,)]: the difference over its standard error by session; 0 where there is none to be told.
    - ``p`` float64 [shape=(M,)]: of t, two-sided; 1 where there is no difference to be told.
    - ``effective`` float64 [shape=(M,)]: how many sessions of equal weight would tell as much.
    - ``sums`` float64 [shape=(S, M, 2)]: what each of S sessions contributes: sum x~ r~ and sum x~^2.
    """

    difference: Floats
    t: Floats
    p: Floats
    effective: Floats
    sums: Floats


def contrasts(turns: TargetTurns, kinds: NDArray[np.bool_]) -> SliceContrasts:
    """Compare the turns of M ``kinds`` [shape=(N, M)] with the others of their episodes."""
    known = np.isfinite(turns.rewards)
    sessions, episodes = turns.sessions[known], turns.episodes[known]
    count = int(turns.sessions.max(initial=-1)) + 1
    rewards = _from_means(turns.rewards[known], episodes)
    shares = kinds[known].astype(np.float64)
    products = _grouped(shares * rewards[:, None], sessions, count)
    of_kind = _grouped(shares, episodes, int(episodes.max(initial=-1)) + 1)
    length = np.bincount(episodes, minlength=len(of_kind)).astype(np.float64)
    spread = of_kind * (1 - of_kind / np.maximum(length, 1.0)[:, None])  # sum x~^2 = n1 (1 - n1 / T)
    session_of = np.zeros(len(of_kind), np.int64)
    session_of[episodes] = sessions
    weights = _grouped(spread, session_of, count)
    sums = np.stack([products, weights], axis=-1)
    return SliceContrasts(*_tested(products, weights), sums)


def _tested(products: Floats, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Difference, t, p and effective sessions of M kinds, from the sums of S sessions [shape=(S, M)] each."""
    from scipy.stats import t as student

    total = weights.sum(axis=0)
    safe = np.where(total > 0, total, 1.0)
    difference: Floats = np.where(total > 0, products.sum(axis=0) / safe, np.nan)
    effective = np.where(total > 0, total**2 / np.where(total > 0, (weights**2).sum(axis=0), 1.0), 0.0)
    residuals = np.where(total > 0, products - difference * weights, 0.0)
    taking_part = np.maximum((weights > 0).sum(axis=0), 2)
    variance = (residuals**2).sum(axis=0) / safe**2 * taking_part / (taking_part - 1)
    told = np.isfinite(difference) & (difference != 0) & (effective > 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(told, difference / np.sqrt(variance), 0.0)
    p = 2 * student.sf(np.abs(t), np.maximum(effective - 1, 1.0))
    return difference, t, p, effective


def _from_means(values: Floats, groups: NDArray[np.int64]) -> Floats:
    """``values`` less the mean of their group; exactly zero where a group's are alike but for rounding."""
    count = np.maximum(np.bincount(groups), 1)
    distances = values - (np.bincount(groups, weights=values) / count)[groups]
    largest = float(np.abs(values).max(initial=0.0))
    nearly: Floats = np.where(np.abs(distances) <= ROUNDING * largest, 0.0, distances)
    return nearly


def _grouped(columns: Floats, groups: NDArray[np.int64], count: int) -> Floats:
    """Sums of the rows of each group [shape=(N, M) -> (count, M)]."""
    from scipy.sparse import csr_array

    rows = np.arange(len(groups))
    member = csr_array((np.ones(len(groups)), (groups, rows)), shape=(count, len(groups)))
    summed: Floats = member @ columns
    return summed
