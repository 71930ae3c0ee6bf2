"""What is done to matrices of rows besides multiplying them, in loops that a compiler makes wide."""

from __future__ import annotations

import numpy as np

from apportion.rlhf.negotiation.model.loops.compiled import compiled
from apportion.rlhf.negotiation.model.loops.curves import all_tanh
from apportion.rlhf.negotiation.model.loops.vectors import bend as bend_row
from apportion.rlhf.negotiation.model.loops.weights import Floats, Whole

ONE = np.float32(1)


@compiled
def plus(given: Floats, out: Floats) -> None:
    """``out += given``, vectors."""
    for place in range(len(out)):
        out[place] += given[place]


@compiled
def add_rows(given: Floats, out: Floats) -> None:
    """``out += given.sum(0)`` [shapes=(R, N), (N,)]."""
    for row in range(len(given)):
        plus(given[row], out)


@compiled
def add_to_rows(given: Floats, out: Floats) -> None:
    """``out += given`` for every row [shapes=(N,), (R, N)]."""
    for row in range(len(out)):
        plus(given, out[row])


@compiled
def add_from(given: Floats, places: Whole, out: Floats) -> None:
    """``out[r] += given[places[r]]`` [shapes=(M, N), (R,), (R, N)]."""
    for row in range(len(out)):
        plus(given[places[row]], out[row])


@compiled
def add_at(given: Floats, places: Whole, out: Floats) -> None:
    """``out[places[r]] += given[r]`` [shapes=(R, N), (R,), (M, N)]."""
    for row in range(len(given)):
        plus(given[row], out[places[row]])


@compiled
def nothing(out: Floats) -> None:
    """``out[:] = 0``, a matrix."""
    for row in range(len(out)):
        own = out[row]
        for place in range(len(own)):
            own[place] = 0


@compiled
def scale(given: Floats, out: Floats) -> None:
    """``out *= given``, matrices."""
    for row in range(len(out)):
        own, by = out[row], given[row]
        for place in range(len(own)):
            own[place] *= by[place]


@compiled
def curve(out: Floats) -> None:
    """tanh in place, a matrix."""
    for row in range(len(out)):
        all_tanh(out[row])


@compiled
def bend(curved: Floats, out: Floats) -> None:
    """``out *= 1 - curved ** 2``, matrices: back through tanh, which gave ``curved``."""
    for row in range(len(out)):
        bend_row(curved[row], out[row])


@compiled
def linear(given: Floats, weight: Floats, bias: Floats) -> Floats:
    """``given @ weight + bias`` [shapes=(R, N), (N, M), (M,)]."""
    out: Floats = np.dot(given, weight)
    add_to_rows(bias, out)
    return out


@compiled
def linear_back(given: Floats, weight: Floats, came: Floats, by_weight: Floats, by_bias: Floats) -> Floats:
    """Back through `linear` of what ``came``: what is ``given`` [shape=(R, M)] comes back to that.

    The gradient of the weight is written into ``by_weight``, that of the bias added to ``by_bias``.
    """
    np.dot(came.T, given, by_weight)
    add_rows(given, by_bias)
    out: Floats = np.dot(given, weight.T)
    return out
