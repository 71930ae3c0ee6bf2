"""Global loss: how far a session's summed turn rewards are from its score (LLM-GELI, Eq. 6)."""

from __future__ import annotations

import numpy as np

from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, ratio, resample
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats


def squared_errors(held: TestSet, values: Floats, offset: float) -> Floats:
    """(R_GE - (offset + sum_t r))^2 of every episode.

    Parameters
    ----------
    held : TestSet
        E episodes with N target turns.
    values : float64 [shape=(K, N)]
        r_theta(s_t, a_t), one row a seed, in units of the score.
    offset : float
        What the model adds to the sum: the training mean, or 0 where its rewards sum to the score itself.

    Returns
    -------
    float64 [shape=(K, E)]
        Squared units of the score.
    """
    errors: Floats = np.square(held.scores - (offset + held.totals(values)))  # Eq. 6, LLM-GELI
    return errors


def global_loss(held: TestSet, values: Floats, offset: float, settings: EvaluationSettings) -> BootstrapResult:
    """The mean of ``squared_errors`` over the held-out episodes, resampled by session."""
    return resample(episode_sums(held, squared_errors(held, values, offset)), ratio, settings)


def episode_sums(held: TestSet, per_episode: Floats) -> Floats:
    """Total and count of a figure of episodes, by session [shape=(K, E) -> (K, S, 2)]."""
    sessions = len(held.session_ids)
    total = np.stack([np.bincount(held.session_of_episode, row, minlength=sessions) for row in per_episode])
    count = np.bincount(held.session_of_episode, minlength=sessions).astype(np.float64)
    return np.stack([total, np.broadcast_to(count, total.shape)], axis=-1)
