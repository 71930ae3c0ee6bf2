"""Global loss: how far a session's summed turn rewards are from its score (LLM-GELI, Eq. 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from apportion.corpus.session import EpisodeKey
from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, Missing, ratio, resample
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats


def squared_errors(held: TestSet, values: Floats, offset: float) -> Floats:
    """(R_GE - (offset + sum_t r))^2 of every episode.

    ``held``: E episodes with N target turns. ``values`` float64 [shape=(K, N)]: r_theta(s_t, a_t), one row a seed, in
    units of the score. ``offset``: what the model adds to the sum: the training mean, or 0 where its rewards sum to the
    score itself. Returns float64 [shape=(K, E)]: squared units of the score.
    """
    errors: Floats = np.square(held.scores - (offset + held.totals(values)))  # Eq. 6, LLM-GELI
    return errors


def global_loss(held: TestSet, values: Floats, offset: float, settings: EvaluationSettings) -> BootstrapResult:
    """The mean of ``squared_errors`` over the held-out episodes, resampled by session."""
    return resample(episode_sums(held, squared_errors(held, values, offset)), ratio, settings)


def episode_sums(held: TestSet, per_episode: Floats) -> Floats:
    """Total and count of a figure of episodes, by session [shape=(K, E) -> (K, S, 2)]."""
    parts = (per_episode, np.ones_like(per_episode))
    return np.stack([held.episodes_by_session(part) for part in parts], axis=-1)


UNIT_TOLERANCE = 1e-6

Residuals = Mapping[str, Sequence[Mapping[EpisodeKey, float]]]
"""Method to what is missing from the sum of each episode's own values, in units of the score, one mapping a seed."""


def residual_told(
    held: TestSet, residuals: Sequence[Mapping[EpisodeKey, float]], settings: EvaluationSettings
) -> BootstrapResult:
    """Mean |residual| over the held-out episodes, of a method whose own values were made rewards of (K seeds)."""
    told = np.array([[of_seed[episode.key] for episode in held.episodes] for of_seed in residuals], dtype=np.float64)
    return resample(episode_sums(held, np.abs(told)), ratio, settings)


def sum_residual(
    held: TestSet, reward: Floats, raw: Floats, offset: float, settings: EvaluationSettings
) -> BootstrapResult | Missing:
    """Mean |R~ - sum_t raw_t| over the held-out episodes, R~ = R_GE - offset, in units of the score.

    ``held``: E episodes with N target turns. ``reward``, ``raw`` float64 [shape=(K, N)]: the projected rewards and the
    method's own values, one row a seed. ``offset``: what the rewards were made to leave out of the score. It is
    Missing where a turn has no value, and where the values are not in units of the score: there the projection
    stretched them by a constant other than 1, and their sum means nothing.
    """
    if not np.isfinite(raw).all():
        return Missing("some turns have no value of the method's own")
    stretch = _stretch(held, reward, raw)
    if stretch is None:
        return Missing("its values are the same for all turns of a session")
    if abs(stretch - 1.0) > UNIT_TOLERANCE:
        return Missing("its values are judgements on a scale of their own, not shares of the score")
    return residual_of(held, raw, offset, settings)


def residual_of(held: TestSet, values: Floats, offset: float, settings: EvaluationSettings) -> BootstrapResult:
    """Mean |R_GE - offset - sum_t values_t|, of values known to be in units of the score [shape=(K, N)]."""
    residual = np.abs(held.scores - offset - held.totals(values))
    return resample(episode_sums(held, residual), ratio, settings)


def _stretch(held: TestSet, reward: Floats, raw: Floats) -> float | None:
    """The constant s of ``reward = R~/T + s * (raw - mean raw)``; None where raw does not vary within episodes."""

    def centred(values: Floats) -> Floats:
        return values - np.repeat(held.totals(values) / held.lengths, held.lengths, axis=1)

    inner, outer = centred(raw), centred(reward)
    power = float(np.square(inner).sum())
    if power <= 1e-18 * max(1.0, float(np.square(raw).sum())):
        return None
    return float((inner * outer).sum()) / power
