"""What a role usually comes to, taken off its episodes' returns: who is dealt the strong side has done nothing for it.

Of role r a return R counts as R - b_r, and after the step b_r <- decay * b_r + (1 - decay) * mean R of r in the step
(SPIRAL, Liu et al., 2025, role-conditioned advantage estimation, whose decay is 0.95; there b_r has learned R before it
is taken off). A step's b_r knows nothing of what is done in it, so that the gradient's expectation stays. The first
step of a role has nothing taken off, and sets b_r. From a group, which is of one role, the same is taken off all over:
its advantages stay, in a unit (`score_norm`) of what differs within roles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from apportion.rlhf.training.endings import StopReason


def less_baselines(
    scores: Sequence[float], endings: Sequence[StopReason], baselines: dict[str, float], decay: float
) -> list[float]:
    """Scores of turns (N), each episode's last one less the baseline of its role; ``baselines`` then learn the returns.

    ``endings``: of the episodes, in the order of their turns. ``baselines``: by role.

    >>> known = {"1": 2.0}
    >>> endings = [StopReason(3.0, True, 2, 0, role="1"), StopReason(5.0, True, 1, 0, role="2")]
    >>> less_baselines([0.0, 3.0, 5.0], endings, known, 0.5)
    [0.0, 1.0, 5.0]
    >>> known
    {'1': 2.5, '2': 5.0}
    """
    left, returns = iter(scores), dict[str, list[float]]()
    less: list[float] = []
    for ending in endings:
        own = [next(left) for _ in range(ending.turns)]
        returns.setdefault(ending.role, []).append(math.fsum(own))
        less += [*own[:-1], own[-1] - baselines.get(ending.role, 0.0)]
    for role, of_role in returns.items():
        mean = math.fsum(of_role) / len(of_role)
        baselines[role] = decay * baselines.get(role, mean) + (1 - decay) * mean
    return less
