"""Shapley values from pairs of complements, by kriging: what was not asked about is as rough as what was.

A Shapley value depends on a game's odd part alone, u(S) = (v(S) - v(all but S)) / 2, which is a sum of
f_A * chi_A(S), chi_A(S) = (-1)^|A and S|, over the sets A of 1, 3, 5, … players, and phi_i = -2 * sum of f_A / |A| over
those with i. f_A of single players is free. Those of more are taken to be normal around 0, as large as the
pairs that were asked about make likely (restricted maximum likelihood; Patterson and Thompson, 1971), so that a game
without interactions is fitted by least squares with every pair counting the same, and one without noise is passed
through. What no order explains, as where all is won or lost by one act, counts as much as the pairs that show it
do in phi. The variances that were tried are averaged by how likely they are. Exact for additive games and all of two
players together, whatever the variances.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from apportion.decompose.shapley.coalitions import Bools, kernel_weight, marginal_weights
from apportion.foundation.arrays import Floats

SIZES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Variance of the third order, as a part of the mean square of u."""
DECAYS = (0.1, 0.4, 1.0)
"""Variance of an order, as a part of that of the one before."""
RESTS = (0.0, 0.001, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Variance of what no order explains, as a part of the mean square of u; under noise it cannot be told."""
UNLIKELY = 1e-3
"""Variances that are less likely than the best by this factor are left out."""
LAST = 15
"""Higher orders are not told from this one."""
SMALL, TINY = 1e-4, 1e-10
"""Below this part of the third order's variance an order is left out; and what is added to a diagonal."""


class VariogramFit(NamedTuple):
    """Variance of the third order and of what no order explains (``rest``), in units of the game squared; ``decay`` is
    what each further order has of the one before."""

    size: float
    decay: float
    rest: float = 0.0

    def orders(self, players: int) -> Iterator[tuple[int, float]]:
        """Each order with its variance, in all coalitions alike."""
        for place, order in enumerate(range(3, min(players, LAST) + 1, 2)):
            if self.size * self.decay**place > self.size * SMALL:
                yield order, self.size * self.decay**place


@dataclass(frozen=True, eq=False)
class KrigingEstimate:
    """Values as a linear map of the pairs' odd parts.

    - ``linear`` (float64 [shape=(n, P)]): Values are ``linear @ u``; they sum to twice the odd part of all players.
    - ``structure`` (float64 [shape=(n,)]): The variance that coalitions have left which were not asked about, in units
      of the game squared.
    """

    linear: Floats
    structure: Floats


def krige(members: Bools, odd_parts: Floats, noise: Floats | None) -> KrigingEstimate:
    """How much each pair counts for each player.

    - ``members`` (bool [shape=(P, n)]): One coalition of each pair; one of them has all players, and they tell the
      players apart.
    - ``odd_parts`` (float64 [shape=(P,)]): (v(S) - v(all but S)) / 2, in units of the game.
    - ``noise`` (float64 [shape=(P,)], optional): Their variance where it is known; None: taken to be none, and
      ``structure`` grows where pairs that are left out are foretold worse than they should be.
    """
    scale = float(np.mean(odd_parts**2)) or 1.0
    design = _Design(members, np.where(members, -1.0, 1.0))
    floor = np.full(len(odd_parts), TINY * scale) + (0.0 if noise is None else noise)
    tried = [
        (likely, fit)
        for size in SIZES
        for decay in DECAYS[: 1 if size == 0 or members.shape[1] < 5 else None]
        for fit in [VariogramFit(size * scale, decay, rest * scale) for rest in RESTS[: None if noise is None else 1]]
        if (likely := _likelihood(design.between(fit) + np.diag(floor), design.signs, odd_parts)) is not None
    ]  # Without interactions the covariance is diagonal, and has a factor.
    best = max(likely for likely, _ in tried)
    chances = {fit: math.exp(likely - best) for likely, fit in tried if math.exp(likely - best) > UNLIKELY}
    found = [design.solved(fit, floor, odd_parts if noise is None else None) for fit in chances]
    shares = np.array(list(chances.values())) / sum(chances.values())
    linear: Floats = np.einsum("f,fip->ip", shares, [one.linear for one in found])
    apart = np.array([(one.linear - linear) @ odd_parts for one in found])
    return KrigingEstimate(linear, shares @ (apart**2 + [one.structure for one in found]))


@dataclass(frozen=True, eq=False)
class _Design:
    members: Bools
    signs: Floats

    def between(self, rough: VariogramFit) -> Floats:
        """Covariance (P, P) of the pairs' odd parts but for single players' and noise."""
        players = self.members.shape[1]
        differ = ((players - self.signs @ self.signs.T) / 2).round().astype(int)
        total = rough.rest * np.eye(len(differ))
        for order, variance in rough.orders(players):
            total += variance * _characters(players, order)[differ]
        return total

    def of_values(self, rough: VariogramFit) -> Floats:
        """Covariance (n, P) of the values, but for single players' part, and the odd parts."""
        players = self.members.shape[1]
        others = self.members.sum(axis=1)[:, None] - self.members
        total = rough.rest * 2 * marginal_weights(self.members).T
        for order, variance in rough.orders(players):
            # Of the sets of this order, one in n / order has the player.
            share = variance * comb(players - 1, order - 1) / comb(players, order)
            total -= (2 / order) * share * self.signs * _characters(players - 1, order - 1)[others]
        return total.T

    def solved(self, rough: VariogramFit, noise: Floats, checked_by: Floats | None) -> KrigingEstimate:
        """The estimate by one fit; ``checked_by`` [shape=(P,)], odd parts without noise, says how far off it may be."""
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
        own = rough.rest * sum(4 / (players**2 * comb(players - 1, size)) for size in range(players)) + sum(
            4 * variance / order**2 * comb(players - 1, order - 1) / comb(players, order)
            for order, variance in rough.orders(players)
        )
        crossed = np.einsum("ip,ip->i", linear, of_values)
        left = own - 2 * crossed + np.einsum("ip,pq,iq->i", linear, structure, linear)
        if checked_by is not None:
            left *= self._surprise(whitened.T @ (whitened - signs @ singles), checked_by)
        return KrigingEstimate(linear, np.maximum(left, 0.0))

    def _surprise(self, precision: Floats, odd_parts: Floats) -> float:
        """The mean square of what each pair, left out, is off by, in its standard deviations; at least 1.

        A pair counts the more the less likely it was to be drawn, so that it stands for those that were not.
        ``precision`` [shape=(P, P)] is the inverse covariance with single players taken out.
        """
        players = self.members.shape[1]
        sizes = self.members.sum(axis=1)
        known = np.diag(precision)
        counts = np.array([1 / kernel_weight(players, int(size)) if 0 < size < players else 0.0 for size in sizes])
        counts[known <= 1e-9 * known.max()] = 0.0  # Nothing else tells what it should be.
        off = (precision @ odd_parts) ** 2 / np.where(counts > 0, known, 1.0)
        return max(1.0, float(counts @ off / counts.sum())) if counts.any() else 1.0


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
