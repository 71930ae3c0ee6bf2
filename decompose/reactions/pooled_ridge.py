"""A linear model of turns that is fitted to sessions: the pooled value of a session's turns is to be its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apportion.foundation.arrays import Floats

PENALTIES = 10.0 ** np.arange(-2, 4.1, 0.5)
"""Tried for the penalty, in units of the mean squared singular value of the pooled features."""


@dataclass(frozen=True, eq=False)
class PooledRidge:
    """A turn with features x is worth ``(x - mean) @ weights``.

    ``left_out`` [shape=(S,)] foretells each session's score by the ridge of all others, and ``loss`` is the mean of its
    squared errors.
    """

    weights: Floats
    mean: Floats
    penalty: float
    loss: float
    left_out: Floats

    def values(self, features: Floats) -> Floats:
        """The value of each turn, in units of the score [shape=(N, F) -> (N,)]."""
        worth: Floats = (features - self.mean) @ self.weights
        return worth


def pooled(features: Floats, pooling: Floats, offsets: Sequence[int]) -> Floats:
    """The weighted mean of each session's turns [shape=(N, F), (N,), (S + 1,) -> (S, F)]; no session is empty."""
    starts = np.asarray(offsets[:-1], dtype=np.int64)
    sums = np.add.reduceat(features * pooling[:, None], starts, axis=0)
    means: Floats = sums / np.add.reduceat(pooling, starts)[:, None]
    return means


def fit(features: Floats, scores: Floats) -> PooledRidge:
    """Ridge regression of ``scores`` on pooled ``features``, its penalty the one of least leave-one-out error.

    min_w sum_s (R_s - b - w . x_s)^2 + penalty |w|^2 with a free intercept b. The leave-one-out error needs no second
    fit: it is the residual over 1 - h, with h the leverage of the session (Allen's PRESS, 1974).

    Parameters
    ----------
    features : float64 [shape=(S, F)]
    scores : float64 [shape=(S,)]
        With fewer than three sessions, or scores or features that never vary, all weights are zero.
    """
    mean, centred = features.mean(axis=0), scores - scores.mean()
    left, singular, right = np.linalg.svd(features - mean, full_matrices=False)
    power = singular**2
    scale = float(power.mean()) if power.size else 0.0
    if len(scores) < 3 or np.ptp(scores) == 0 or scale <= 1e-12:
        others = scores - centred * len(scores) / max(1, len(scores) - 1)
        return PooledRidge(np.zeros(features.shape[1]), mean, float("inf"), float(np.mean(centred**2)), others)
    along = left.T @ centred
    best: tuple[float, float, Floats] | None = None
    for penalty in PENALTIES * scale:
        shrink = power / (power + penalty)
        leverage = 1 / len(scores) + np.square(left) @ shrink
        missed = (centred - left @ (shrink * along)) / (1 - leverage)
        loss = float(np.mean(np.square(missed)))
        if best is None or loss < best[0]:
            best = (loss, float(penalty), missed)
    assert best is not None
    loss, penalty, missed = best
    weights: Floats = right.T @ (singular / (power + penalty) * along)
    return PooledRidge(weights, mean, penalty, loss, scores - missed)
