"""Best-of-n in figures: how far it is from the policy, and what it earns, out of one set of replies."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from apportion.foundation.errors import InputError


def divergence(n: int) -> float:
    """KL of the best of ``n`` replies from the policy that they are drawn from, in nats: log n - (n - 1) / n.

    Exact where no two replies earn the same, else more than it is (Stiennon et al., 2020; Gao et al., 2023, as the
    abscissa of their curves).
    """
    return math.log(n) - (n - 1) / n


def expected_best(rewards: ArrayLike, n: int, values: ArrayLike | None = None) -> NDArray[np.float64]:
    """What the best of ``n`` replies is worth, as the mean over every choice of n out of M (Nakano et al., 2021).

    In order of their rewards the i-th of M replies is the best of n with probability C(i - 1, n - 1) / C(M, n); replies
    that earn the same share theirs. The estimate is unbiased, and less noisy than that of disjoint groups.

    ``rewards`` [shape=(C, M)]: M replies to each of C contexts, by which the best is chosen. ``values`` [shape=(C, M)]:
    what is averaged of the chosen ones, such as a gold reward; None takes the rewards. Returns [shape=(C,)]. Raises
    InputError: ``n`` below 1 or above M.
    """
    chosen_by = np.asarray(rewards, dtype=np.float64)
    worth = chosen_by if values is None else np.asarray(values, dtype=np.float64)
    most = chosen_by.shape[1]
    if not 1 <= n <= most:
        raise InputError(f"best of {n}: there are {most} replies to a context; take 1 to {most}, or draw more.")
    chances = np.array([math.comb(rank, n - 1) / math.comb(most, n) for rank in range(most)])
    expected = np.empty(len(chosen_by))
    for row, (scores, of) in enumerate(zip(chosen_by, worth, strict=True)):
        _, level, count = np.unique(scores, return_inverse=True, return_counts=True)
        expected[row] = np.bincount(np.sort(level), chances) @ (np.bincount(level, of) / count)
    return expected
