"""Vectors with matrices, in loops that a compiler makes wide: one game has no rows to put together.

A gradient of a matrix is a sum of a few outer products of what came in and what came back; it is never written out.
"""

import numpy as np
from numpy.typing import NDArray

from rlhf.negotiation.model.one_game.compiled import compiled, summing

Floats = NDArray[np.float32]


@compiled
def put(given: Floats, out: Floats) -> None:
    """``out[:] = given``, vectors."""
    for place in range(len(out)):
        out[place] = given[place]


@compiled
def bend(bent: Floats, back: Floats) -> None:
    """``back *= 1 - bent ** 2``, vectors: back through tanh, which gave ``bent``."""
    for place in range(len(back)):
        back[place] *= np.float32(1) - bent[place] * bent[place]


@summing
def add(given: Floats, share: np.float32, out: Floats) -> None:
    """``out += share * given``, vectors."""
    for place in range(len(out)):
        out[place] += share * given[place]


@summing
def add_product(given: Floats, matrix: Floats, out: Floats) -> None:
    """``out += given @ matrix`` [shapes=(N,), (N, M), (M,)]."""
    for row in range(len(given)):
        add(matrix[row], given[row], out)


@summing
def dot(one: Floats, other: Floats) -> np.float32:
    """The inner product."""
    total = np.float32(0)
    for place in range(len(one)):
        total += one[place] * other[place]
    return total


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
    """``matrix -= rate * (came.T @ back)`` [shapes=(N, M), (T, N), (T, M)]."""
    for row in range(len(matrix)):
        for step in range(len(came)):
            add(back[step], -rate * came[step, row], matrix[row])
