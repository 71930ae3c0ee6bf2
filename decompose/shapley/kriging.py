"""Shapley values from pairs of complements, by kriging: what was not asked about is as rough as what was.

A Shapley value depends on a game's odd part alone, u(S) = (v(S) - v(all but S)) / 2, which is a sum of
f_A * chi_A(S), chi_A(S) = (-1)^|A and S|, over the sets A of 1, 3, 5, … players, and phi_i = -2 * sum of f_A / |A| over
those with i. f_A of single players is free. Those of more are taken to be normal around 0, as large as the
pairs that were asked about make likely (restricted maximum likelihood; Patterson and Thompson, 1971), so that a game
without interactions is fitted by least squares with every pair counting the same, and one without noise is passed
through. Linear in u, and exact for additive games and all of two players together, whatever the roughness.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from apportion.decompose.shapley.coalitions import Bools
from apportion.foundation.arrays import Floats

SIZES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Variance of the third order, as a part of the mean square of u."""
DECAYS = (0.1, 0.4, 1.0)
"""Variance of an order, as a part of that of the one before."""
NOISES = (0.0, 0.001, 0.01, 0.03, 0.1, 0.3)
"""Variance of the noise, as a part of the mean square of u, where no second number tells it."""
LAST = 15
"""Higher orders are not told from this one."""
SMALL, TINY = 1e-4, 1e-10
"""Below this part of the third order's variance an order is left out; and what is added to a diagonal."""


class VariogramFit(NamedTuple):
    """Variance of the third order in units of the game squared, and what each further one has of the one before."""

    size: float
    decay: float

    def orders(self, players: int) -> Iterator[tuple[int, float]]:
        """Each order with its variance, in all coalitions alike."""
        for place, order in enumerate(range(3, min(players, LAST) + 1, 2)):
            if self.size * self.decay**place > self.size * SMALL:
                yield order, self.size * self.decay**place


@dataclass(frozen=True, eq=False)
class KrigingEstimate:
    """Values as a linear map of the pairs' odd parts.

    - ``linear`` (float64 [shape=(n, P)]): Values are ``linear @ u``; they sum to twice the odd part of all players.
    - ``noise`` (float64 [shape=(P,)]): The variance of each odd part that was found or given, in units of the game
      squared.
    - ``structure`` (float64 [shape=(n,)]): The variance that coalitions have left which were not asked about.
    """

    linear: Floats
    noise: Floats
    structure: Floats


def krige(members: Bools, odd_parts: Floats, noise: Floats | None) -> KrigingEstimate:
    """How much each pair counts for each player.

    - ``members`` (bool [shape=(P, n)]): One coalition of each pair; one of them has all players, and they tell the
      players apart.
    - ``odd_parts`` (float64 [shape=(P,)]): (v(S) - v(all but S)) / 2, in units of the game.
    - ``noise`` (float64 [shape=(P,)], optional): Their variance where it is known; None: it is found with the
      roughness.
    """
    scale = float(np.mean(odd_parts**2)) or 1.0
    signs: Floats = np.where(members, -1.0, 1.0)
    design = _Design(members, signs)
    floor = np.full(len(odd_parts), TINY * scale)
    noises = [noise + floor] if noise is not None else [floor + part * scale for part in NOISES]
    best: tuple[float, VariogramFit, Floats] | None = None
    for size in SIZES:
        for decay in DECAYS[: 1 if size == 0 or members.shape[1] < 5 else None]:
            rough = VariogramFit(size * scale, decay)
            structure = design.between(rough)
            for each in noises:
                likely = _likelihood(structure + np.diag(each), signs, odd_parts)
                if likely is not None and (best is None or likely > best[0]):
                    best = likely, rough, each
    assert best is not None  # Without interactions the covariance is diagonal, and has a factor.
    return design.solved(best[1], best[2])


@dataclass(frozen=True, eq=False)
class _Design:
    members: Bools
    signs: Floats

    def between(self, rough: VariogramFit) -> Floats:
        """Covariance (P, P) of the pairs' odd parts but for single players' and noise."""
        players = self.members.shape[1]
        differ = ((players - self.signs @ self.signs.T) / 2).round().astype(int)
        total = np.zeros(differ.shape)
        for order, variance in rough.orders(players):
            total += variance * _characters(players, order)[differ]
        return total

    def of_values(self, rough: VariogramFit) -> Floats:
        """Covariance (n, P) of the values, but for single players' part, and the odd parts."""
        players = self.members.shape[1]
        others = self.members.sum(axis=1)[:, None] - self.members
        total = np.zeros(self.signs.shape)
        for order, variance in rough.orders(players):
            # Of the sets of this order, one in n / order has the player.
            share = variance * comb(players - 1, order - 1) / comb(players, order)
            total -= (2 / order) * share * self.signs * _characters(players - 1, order - 1)[others]
        return total.T

    def solved(self, rough: VariogramFit, noise: Floats) -> KrigingEstimate:
        players = self.members.shape[1]
        structure, of_values = self.between(rough), self.of_values(rough)
        factor = cholesky(structure + np.diag(noise), lower=True)
        signs = solve_triangular(factor, self.signs, lower=True)
        whitened = solve_triangular(factor, np.eye(len(noise)), lower=True)
        singles = np.linalg.solve(signs.T @ signs, signs.T @ whitened)  # generalized least squares (n, P)
        rest = solve_triangular(factor, of_values.T, lower=True).T @ (whitened - signs @ singles)
        linear = -2 * singles + rest
        everybody = self.members.all(axis=1)
        linear += (2.0 * everybody - linear.sum(axis=0)) / players  # They sum to v(all) - v(none).
        own = sum(
            4 * variance / order**2 * comb(players - 1, order - 1) / comb(players, order)
            for order, variance in rough.orders(players)
        )
        crossed = np.einsum("ip,ip->i", linear, of_values)
        left = own - 2 * crossed + np.einsum("ip,pq,iq->i", linear, structure, linear)
        return KrigingEstimate(linear, noise, np.maximum(left, 0.0))


def _likelihood(covariance: Floats, signs: Floats, odd_parts: Floats) -> float | None:
    """The restricted log likelihood, up to a constant; None where the covariance has no factor."""
    try:
        factor = cholesky(covariance, lower=True)
    except LinAlgError:
        return None
    both = solve_triangular(factor, np.column_stack([signs, odd_parts]), lower=True)
    whitened, target = both[:, :-1], both[:, -1]
    squares = whitened.T @ whitened
    residual = target - whitened @ np.linalg.solve(squares, whitened.T @ target)
    of_squares = np.linalg.slogdet(squares)[1]
    return float(-0.5 * residual @ residual - np.log(np.diag(factor)).sum() - 0.5 * of_squares)


@cache
def _characters(players: int, order: int) -> Floats:
    """By the number h of players in which two coalitions differ [shape=(players + 1,)], the mean product of chi_A.

    Over all sets A of ``order`` of them: Krawtchouk's polynomial, brought to 1 at h = 0.
    """
    whole = comb(players, order)
    return np.array([
        sum((-1) ** k * comb(h, k) * comb(players - h, order - k) for k in range(order + 1)) / whole
        for h in range(players + 1)
    ])  # fmt: skip
