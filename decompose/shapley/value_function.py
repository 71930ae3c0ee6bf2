"""What coalitions are worth: asked once each, with the noise of the rollouts that it is the mean of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from apportion.decompose.shapley.coalitions import Bools
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError

POOLED = 4
"""As so many further rollouts' spread counts that of all coalitions in each one's variance (Smyth, 2004)."""
Value = Callable[[frozenset[int]], float | Sequence[float]]
"""What a coalition is worth: players 0 to n - 1 in, one number out, or the utilities of its J rollouts (Eq. 2)."""


@dataclass(frozen=True)
class BatchedValueFunction:
    """A `Value` whose coalitions are asked for all at once, K of them in and K numbers or rows of J numbers out."""

    of_all: Callable[[Sequence[frozenset[int]]], Sequence[float | Sequence[float]]]

    def __call__(self, coalition: frozenset[int]) -> float | Sequence[float]:
        """What one is worth."""
        return self.of_all([coalition])[0]


@dataclass(frozen=True)
class NoisyValueFunction:
    """A noisy `Value` as `BatchedValueFunction`, that can be asked about a coalition again for as many rollouts by
    other draws.

    Each coalition is given with the number of times that it was asked about before.
    """

    of_times: Callable[[Sequence[tuple[frozenset[int], int]]], Sequence[float | Sequence[float]]]

    def __call__(self, coalition: frozenset[int]) -> float | Sequence[float]:
        """What one is worth."""
        return self.of_times([(coalition, 0)])[0]


@dataclass(frozen=True, eq=False)
class ValueFunction:
    """v of K coalitions.

    - ``means`` (float64 [shape=(K,)]): In units of the game.
    - ``variances`` (float64 [shape=(K,)]): Of these means, from the spread of each coalition's rollouts and of all; 0
      where one had one number.
    - ``calls``: Coalitions that were asked for: fewer than K where one stands here twice.
    - ``fewest``: Utilities of the coalition that has fewest: 1 tells nothing of its noise.
    - ``rollouts`` (float64 [shape=(K, J)], optional): The utilities themselves, where rollout j of every coalition drew
      the same random numbers.
    """

    means: Floats
    variances: Floats
    calls: int
    fewest: int
    rollouts: Floats | None = None

    def with_more(self, others: ValueFunction) -> ValueFunction:
        """These coalitions and ``others``, which stand before the last of these."""
        both = [(self.means, others.means), (self.variances, others.variances), (self.rollouts, others.rollouts)]
        means, variances, rollouts = (
            None if mine is None or theirs is None else np.concatenate([mine[:-1], theirs, mine[-1:]])
            for mine, theirs in both
        )
        assert means is not None and variances is not None
        return ValueFunction(means, variances, self.calls + others.calls, min(self.fewest, others.fewest), rollouts)

    def variances_of(self, linear: Floats) -> Floats:
        """The variance (n,) that all rollouts give to ``linear`` (n, K) @ v."""
        return self.variance_of(linear, np.ones(linear.shape[1], dtype=bool))

    def variance_of(self, linear: Floats, rows: Bools) -> Floats:
        """The variance (n,) that the rollouts of ``rows`` (K,) give to ``linear`` (n, K) @ v.

        Rollouts that drew alike vary together, so that the spread is that of the result from draw to draw.
        """
        if self.rollouts is None:
            return np.asarray((linear[:, rows] ** 2) @ self.variances[rows])
        drawn = linear[:, rows] @ self.rollouts[rows]  # (n, J)
        return np.asarray(drawn.var(axis=1, ddof=1) / drawn.shape[1])


def ask(value: Value, members: Bools, *, drawn_alike: bool = False, more: int = 0) -> ValueFunction:
    """What each of ``members`` [shape=(K, n)] is worth.

    - ``value`` (callable): v(S), see `Value`; asked once for each coalition.
    - ``members`` (bool [shape=(K, n)]): The coalitions.
    - ``drawn_alike`` (bool): Whether rollout j of every coalition draws the same random numbers.
    - ``more``: Further times that the first and the last of ``members`` are asked about, where ``value`` can be
      (`NoisyValueFunction`).

    Raises UnitError: A coalition's value is not finite, or no value at all; or they differ in number and are said to
    draw alike.
    """
    coalitions = [frozenset(int(player) for player in np.flatnonzero(member)) for member in members]
    distinct = list(dict.fromkeys(coalitions))
    if isinstance(value, NoisyValueFunction):
        times = [(coalition, time) for coalition in (distinct[0], distinct[-1]) for time in range(1, 1 + more)]
        times = [(coalition, 0) for coalition in distinct] + times
        found = value.of_times(times)
    else:
        times = [(coalition, 0) for coalition in distinct]
        found = value.of_all(distinct) if isinstance(value, BatchedValueFunction) else [value(one) for one in distinct]
    by_time: dict[frozenset[int], list[Floats]] = {}
    for (coalition, _), worth in zip(times, found, strict=True):
        by_time.setdefault(coalition, []).append(_utilities(coalition, worth))
    # Rollouts that drew alike stay as many as the others have.
    joined = np.mean if drawn_alike else np.concatenate
    asked = {coalition: joined(several, axis=0) for coalition, several in by_time.items()}
    rows = [asked[coalition] for coalition in coalitions]
    means = np.array([numbers.mean() for numbers in rows])  # Eq. 2, SAVOIR
    variances = _shrunk(rows)
    sizes = {numbers.size for numbers in rows}
    if drawn_alike and len(sizes) > 1:
        raise UnitError(f"coalitions with {sorted(sizes)} rollouts: those that draw alike have as many as each other.")
    alike = drawn_alike and sizes != {1}
    return ValueFunction(means, variances, len(times), min(sizes), np.stack(rows) if alike else None)


def _shrunk(rows: Sequence[Floats]) -> Floats:
    """Variances (K,) of means: each coalition's own spread tells little of two rollouts, so all others' count, too."""
    freedom = np.array([numbers.size - 1 for numbers in rows])
    if not freedom.all():
        return np.zeros(len(rows))
    own = np.array([numbers.var(ddof=1) for numbers in rows])
    pooled = float(own @ freedom / freedom.sum())
    return np.asarray((own * freedom + pooled * POOLED) / (freedom + POOLED) / (freedom + 1))


def _utilities(coalition: frozenset[int], worth: float | Sequence[float]) -> Floats:
    utilities = np.atleast_1d(np.asarray(worth, dtype=np.float64))
    if utilities.ndim != 1 or not utilities.size or not np.isfinite(utilities).all():
        raise UnitError(
            f"coalition {sorted(coalition)}: its value is {utilities.tolist()}; it must be one finite number, or "
            "one for each rollout. Look at what `value` does with these players."
        )
    return utilities
