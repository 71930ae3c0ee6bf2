"""What coalitions are worth: asked once each, with the noise of the rollouts that it is the mean of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from decompose.shapley.coalitions import Bools
from foundation.arrays import Floats
from foundation.errors import UnitError

Value = Callable[[frozenset[int]], float | Sequence[float]]
"""What a coalition is worth: players 0 to n - 1 in, one number out, or the utilities of its J rollouts (Eq. 2)."""


@dataclass(frozen=True)
class Together:
    """A `Value` whose coalitions are asked for all at once, K of them in and K numbers or rows of J numbers out."""

    of_all: Callable[[Sequence[frozenset[int]]], Sequence[float | Sequence[float]]]

    def __call__(self, coalition: frozenset[int]) -> float | Sequence[float]:
        """What one is worth."""
        return self.of_all([coalition])[0]


@dataclass(frozen=True, eq=False)
class Worth:
    """v of K coalitions.

    Parameters
    ----------
    means : float64 [shape=(K,)]
        In units of the game.
    variances : float64 [shape=(K,)]
        Of these means, from the spread of each coalition's rollouts; 0 where there was one number.
    calls : int
        Coalitions that were asked for: fewer than K where one stands here twice.
    rollouts : float64 [shape=(K, J)], optional
        The utilities themselves, where rollout j of every coalition drew the same random numbers.
    """

    means: Floats
    variances: Floats
    calls: int
    rollouts: Floats | None = None

    def variance_of(self, linear: Floats, rows: Bools) -> Floats:
        """The variance (n,) that the rollouts of ``rows`` (K,) give to ``linear`` (n, K) @ v.

        Rollouts that drew alike vary together, so that the spread is that of the result from draw to draw.
        """
        if self.rollouts is None:
            return np.asarray((linear[:, rows] ** 2) @ self.variances[rows])
        drawn = linear[:, rows] @ self.rollouts[rows]  # (n, J)
        return np.asarray(drawn.var(axis=1, ddof=1) / drawn.shape[1])


def ask(value: Value, members: Bools, *, drawn_alike: bool = False) -> Worth:
    """What each of ``members`` [shape=(K, n)] is worth.

    Parameters
    ----------
    value : callable
        v(S), see `Value`; asked once for each coalition.
    members : bool [shape=(K, n)]
        The coalitions.
    drawn_alike : bool
        Whether rollout j of every coalition draws the same random numbers.

    Raises
    ------
    UnitError
        A coalition's value is not finite, or no value at all; or they differ in number and are said to draw alike.
    """
    coalitions = [frozenset(int(player) for player in np.flatnonzero(member)) for member in members]
    distinct = list(dict.fromkeys(coalitions))
    found = value.of_all(distinct) if isinstance(value, Together) else map(value, distinct)
    asked = {coalition: _utilities(coalition, worth) for coalition, worth in zip(distinct, found, strict=True)}
    rows = [asked[coalition] for coalition in coalitions]
    means = np.array([utilities.mean() for utilities in rows])  # Eq. 2, SAVOIR
    variances = np.array([u.var(ddof=1) / u.size if u.size > 1 else 0.0 for u in rows])
    sizes = {utilities.size for utilities in rows}
    if drawn_alike and len(sizes) > 1:
        raise UnitError(f"coalitions with {sorted(sizes)} rollouts: those that draw alike have as many as each other.")
    alike = drawn_alike and sizes != {1}
    return Worth(means, variances, len(asked), np.stack(rows) if alike else None)


def _utilities(coalition: frozenset[int], worth: float | Sequence[float]) -> Floats:
    utilities = np.atleast_1d(np.asarray(worth, dtype=np.float64))
    if utilities.ndim != 1 or not utilities.size or not np.isfinite(utilities).all():
        raise UnitError(
            f"coalition {sorted(coalition)}: its value is {utilities.tolist()}; it must be one finite number, or "
            "one for each rollout. Look at what `value` does with these players."
        )
    return utilities
