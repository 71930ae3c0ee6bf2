"""Vectors with matrices, in loops that a compiler makes wide: one game has no rows to put together.

A gradient of a matrix is a sum of a few outer products of what came in and what came back; it is never written out
whole.
"""

import numpy as np
from numpy.typing import NDArray

from apportion.rlhf.negotiation.model.loops.compiled import compiled, summing
from apportion.rlhf.negotiation.model.loops.vectors import add, dot

Floats = NDArray[np.float32]
AT_A_TIME = 32
"""Rows of a gradient that are written out together."""


@summing
def add_four(rows: Floats, shares: Floats, out: Floats) -> None:
    """``out += shares @ rows`` [shapes=(4,), (4, M), (M,)]; what is added to is read and written once."""
    one, two, three, four = rows[0], rows[1], rows[2], rows[3]
    by_one, by_two, by_three, by_four = shares[0], shares[1], shares[2], shares[3]
    for place in range(len(out)):
        out[place] += by_one * one[place] + by_two * two[place] + by_three * three[place] + by_four * four[place]


@summing
def add_product(given: Floats, matrix: Floats, out: Floats) -> None:
    """``out += given @ matrix`` [shapes=(N,), (N, M), (M,)]."""
    fours = len(given) // 4 * 4
    for row in range(0, fours, 4):
        add_four(matrix[row : row + 4], given[row : row + 4], out)
    for row in range(fours, len(given)):
        add(matrix[row], given[row], out)


@summing
def add_turned(matrix: Floats, given: Floats, out: Floats) -> None:
    """``out += matrix @ given`` [shapes=(N, M), (M,), (N,)]."""
    for row in range(len(out)):
        out[row] += dot(matrix[row], given)


@compiled
def squared_length(came: Floats, back: Floats) -> float:
    """Of the sum of outer products of rows, squared [shapes=(T, N), (T, M)]."""
    total = 0.0
    for one in range(len(came)):
        total += float(dot(came[one], came[one])) * float(dot(back[one], back[one]))
        for other in range(one):
            total += 2 * float(dot(came[one], came[other])) * float(dot(back[one], back[other]))
    return max(total, 0.0) if np.isfinite(total) else total


@summing
def descend(matrix: Floats, came: Floats, back: Floats, rate: np.float32) -> None:
    """``matrix -= rate * (came.T @ back)`` [shapes=(N, M), (T, N), (T, M)], some rows at a time."""
    shares = np.empty((came.shape[1], came.shape[0]), dtype=np.float32)
    for row in range(len(matrix)):
        for step in range(len(came)):
            shares[row, step] = -rate * came[step, row]
    for first in range(0, len(matrix), AT_A_TIME):
        last = min(first + AT_A_TIME, len(matrix))
        moved = np.dot(shares[first:last], back)
        for row in range(first, last):
            add(moved[row - first], np.float32(1), matrix[row])
