"""Vectors, in loops that a compiler makes wide."""

import numpy as np
from numpy.typing import NDArray

from apportion.rlhf.negotiation.model.loops.compiled import compiled, summing

Floats = NDArray[np.float32]


@compiled
def put(given: Floats, out: Floats) -> None:
    """``out[:] = given``, vectors."""
    for place in range(len(out)):
        out[place] = given[place]


@summing
def add(given: Floats, share: np.float32, out: Floats) -> None:
    """``out += share * given``, vectors."""
    for place in range(len(out)):
        out[place] += share * given[place]


@summing
def dot(one: Floats, other: Floats) -> np.float32:
    """The inner product."""
    total = np.float32(0)
    for place in range(len(one)):
        total += one[place] * other[place]
    return total


@compiled
def bend(bent: Floats, back: Floats) -> None:
    """``back *= 1 - bent ** 2``, vectors: back through tanh, which gave ``bent``."""
    for place in range(len(back)):
        back[place] *= np.float32(1) - bent[place] * bent[place]
