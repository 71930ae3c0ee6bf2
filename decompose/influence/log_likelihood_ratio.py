"""How far an utterance shifts its follower towards the desired replies (Eq. 5), and among others (Eq. 7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apportion.decompose.influence.scorer import LogprobResult, LogprobScorer, Prompt
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError


def shifts(
    measurer: LogprobScorer,
    prompts: Sequence[Prompt],
    desired: Sequence[str],
    undesired: Sequence[str],
    *,
    per_token: bool = False,
) -> Floats:
    """R(u) [shape=(N,)] of N candidate utterances, in nats (Eq. 5).

    Parameters
    ----------
    prompts : sequence of Prompt
        What the follower reads after each candidate.
    desired, undesired : sequence of str
        Replies that the speaker wants and does not want (K of each in the paper; either may be empty, not both).
    per_token : bool
        Take a reply's mean over its tokens, as the paper's released code does, in place of their sum (Eq. 6).

    Raises InputError, UnitError, TooLongError: As `apportion.decompose.influence.scorer.LogprobScorer.measure`.
    """
    return shift_of(measurer.measure(prompts, [*desired, *undesired]), len(desired), per_token=per_token)


def shift_of(measured: LogprobResult, desired: int, *, per_token: bool = False) -> Floats:
    """R(u) [shape=(N,)] in nats, of what was measured: the first ``desired`` replies less the others (Eq. 5)."""
    logs = measured.means if per_token else measured.sums
    totals: Floats = logs[:, :desired].sum(axis=1) - logs[:, desired:].sum(axis=1)  # Eq. 5, Stackelberg Speaker
    return totals


def advantages(rewards: Floats) -> Floats:
    """Rewards [shape=(n,)] less their mean, in standard deviations (Eq. 7); 0 where all are equal.

    The standard deviation is that of the n candidates themselves. Those that differ by rounding alone are equal.

    >>> advantages(np.array([1.0, 3.0])).tolist(), advantages(np.array([0.1, 0.1, 0.1])).tolist()
    ([-1.0, 1.0], [0.0, 0.0, 0.0])

    Raises UnitError: No reward, or one that is not finite.
    """
    if not rewards.size or not np.isfinite(rewards).all():
        raise UnitError(f"rewards {rewards.tolist()[:8]}: advantages take at least one, all of them finite.")
    apart = rewards - rewards.mean()
    spread = float(np.sqrt(np.mean(apart**2)))
    if spread <= 1e-12 * max(1.0, float(np.abs(rewards).max())):
        return np.zeros_like(rewards)
    scaled: Floats = apart / spread  # Eq. 7, Stackelberg Speaker
    return scaled
