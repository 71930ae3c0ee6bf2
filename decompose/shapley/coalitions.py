"""Which coalitions of n players are asked for their worth, and how much each counts in KernelSHAP's regression."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from apportion.foundation.arrays import Floats

Bools = NDArray[np.bool_]
Indices = NDArray[np.int64]

FEW = 4
"""Up to this many times what is drawn, coalitions are listed and chosen from; of more, they are drawn until new."""


@dataclass(frozen=True)
class Coalitions:
    """K coalitions of n players, the first of none and the last of all.

    - ``members`` (bool [shape=(K, n)])
    - ``sampled`` (bool [shape=(K,)]): Those that were drawn; all of a size were taken for the others.
    - ``weights``, ``counts`` (float64 [shape=(K - 2,)]): Of those between the first and the last: weight in the
      regression, and how often each was drawn (1 where it was not).
    - ``groups`` (int64 [shape=(K - 2,)]): Equal for a coalition and its complement.
    - ``source``: The library that drew them; empty for ours.
    """

    members: Bools
    sampled: Bools
    weights: Floats
    counts: Floats
    groups: Indices
    source: str = ""


def all_coalitions(players: int) -> Bools:
    """All 2^n coalitions [shape=(2^n, n)], the first of none, the last of all."""
    numbers = np.arange(2**players, dtype=np.int64)
    return np.asarray((numbers[:, None] >> np.arange(players)) & 1 == 1, dtype=bool)


def kernel_weight(players: int, size: int) -> float:
    """The weight of one coalition of ``size`` players, 0 < size < n (Eq. 6, SAVOIR)."""
    return (players - 1) / (math.comb(players, size) * size * (players - size))


def marginal_weights(members: Bools) -> Floats:
    """How much v of each of ``members`` [shape=(K, n)] counts for each player's value (n, K) (Eq. 4, SAVOIR).

    A coalition with i counts as one that i has joined, one without i as one that i joins.
    """
    players = members.shape[1]
    sizes = members.sum(axis=1)
    joining = np.array([1 / (players * math.comb(players - 1, size)) for size in range(players)])
    joined, waiting = joining[np.maximum(sizes - 1, 0)], joining[np.minimum(sizes, players - 1)]
    return np.asarray(np.where(members, joined[:, None], -waiting[:, None]).T)


def paired(players: int, budget: int, seed: int) -> Coalitions:
    """``budget`` coalitions drawn by shapiq, each with its complement (Covert and Lee, 2021); weights undo the draw.

    Sizes of which more would be drawn than there are, are taken whole.
    """
    from importlib.metadata import version

    from shapiq.approximator.sampling import CoalitionSampler

    sizes = np.arange(1, players)
    by_size = np.concatenate([[0.0], 1 / (sizes * (players - sizes)), [0.0]])  # Eq. 6 times the number of that size
    sampler = CoalitionSampler(players, by_size, pairing_trick=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # It says that few coalitions are left to draw; they are found.
        sampler.sample(budget)
    members = np.asarray(sampler.coalitions_matrix, dtype=bool)
    order = np.argsort(members.sum(axis=1), kind="stable")
    members = members[order]
    kernel = np.array([kernel_weight(players, int(size)) for size in members[1:-1].sum(axis=1)])
    return Coalitions(
        members,
        np.asarray(sampler.is_coalition_sampled, dtype=bool)[order],
        kernel * sampler.sampling_adjustment_weights[order][1:-1],
        sampler.coalitions_counter[order][1:-1].astype(np.float64),
        _groups(members[1:-1]),
        f"drawn by shapiq {version('shapiq')}",
    )


def extreme_first(players: int, budget: int, rng: np.random.Generator) -> Coalitions:
    """The smallest and largest coalitions first, as many as the budget allows (SAVOIR, section 3.4)."""
    left = budget - 2
    rows: list[tuple[int, ...]] = []
    drawn: list[bool] = []
    for small in range(1, players // 2 + 1):
        sizes = sorted({small, players - small})
        held = sum(math.comb(players, size) for size in sizes)
        added = _whole(players, sizes) if held <= left else _some(players, sizes, held, left, rng)
        rows += added
        drawn += [held > left] * len(added)
        left -= len(added)
        if left == 0:
            break
    members = np.zeros((len(rows) + 2, players), dtype=bool)
    for row, coalition in enumerate(rows, 1):
        members[row, list(coalition)] = True
    members[-1] = True
    weights = np.array([kernel_weight(players, len(coalition)) for coalition in rows])
    return Coalitions(members, np.array([False, *drawn, False]), weights, np.ones(len(rows)), _groups(members[1:-1]))


def appendix_d(players: int, budget: int, rng: np.random.Generator) -> Coalitions:
    """SAVOIR's appendix D: none, all, all singles and all but one (2n + 2), then draws that prefer extreme sizes.

    The paper does not say by which probabilities, nor whether a coalition may be drawn again: a size is drawn here by
    the weight that Eq. 6 gives it as a whole, 1 / (s (n - s)), then a coalition of that size, until it is a new one.
    Drawn again and counted again, the estimate is further off.

    - ``players``: n, 2 or more.
    - ``budget``: K, from 2n + 2 to all there are.
    - ``rng`` (numpy.random.Generator): Draws.
    """
    sizes = np.arange(1, players)
    chances = 1 / (sizes * (players - sizes))
    chances /= chances.sum()
    everybody = range(players)
    extremes: list[tuple[int, ...]] = [(player,) for player in everybody]
    extremes += [tuple(other for other in everybody if other != player) for player in everybody]
    inner = dict.fromkeys(extremes)
    mandatory = len(inner)
    while len(inner) < budget - 2:
        size = int(rng.choice(sizes, p=chances))
        inner[tuple(sorted(int(i) for i in rng.choice(players, size=size, replace=False)))] = None
    members = np.zeros((len(inner) + 2, players), dtype=bool)
    for row, coalition in enumerate(inner, 1):
        members[row, list(coalition)] = True
    members[-1] = True
    sampled = np.zeros(len(members), dtype=bool)
    sampled[mandatory + 1 : -1] = True
    weights = np.array([kernel_weight(players, len(coalition)) for coalition in inner])
    return Coalitions(members, sampled, weights, np.ones(len(inner)), _groups(members[1:-1]))


def _whole(players: int, sizes: list[int]) -> list[tuple[int, ...]]:
    return [coalition for size in sizes for coalition in combinations(range(players), size)]


def _some(players: int, sizes: list[int], held: int, count: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """``count`` of the ``held`` coalitions of these sizes, without replacement."""
    if held <= FEW * count:
        listed = _whole(players, sizes)
        return [listed[i] for i in sorted(rng.choice(held, size=count, replace=False))]
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < count:
        size = int(rng.choice(sizes))
        drawn[tuple(sorted(int(i) for i in rng.choice(players, size=size, replace=False)))] = None
    return list(drawn)


def complements(members: Bools) -> tuple[Indices, Indices]:
    """The rows of ``members`` (K, n) that have player 0, and those of their complements; the rest has none."""
    rows = {member.tobytes(): row for row, member in enumerate(members)}
    pairs = [(row, rows.get((~member).tobytes())) for row, member in enumerate(members) if member[0]]
    whole = np.array([pair for pair in pairs if pair[1] is not None], dtype=np.int64).reshape(-1, 2)
    return whole[:, 0], whole[:, 1]


def with_complements(pairs: Bools) -> Bools:
    """The coalitions [shape=(2 P, n)] of pairs given by one half [shape=(P, n)], by size."""
    both = np.vstack([pairs, ~pairs])
    return both[np.argsort(both.sum(axis=1), kind="stable")]


def _groups(members: Bools) -> Indices:
    """A number (K,) for each coalition that it shares with its complement alone."""
    one_half = np.where(members[:, :1], members, ~members)
    return np.asarray(np.unique(one_half, axis=0, return_inverse=True)[1], dtype=np.int64).reshape(-1)
