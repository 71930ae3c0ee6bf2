"""tanh and the logistic function, as quotients that a compiler makes wide; within 3e-7 of what they stand for."""

import numpy as np
from numpy.typing import NDArray

from apportion.rlhf.negotiation.model.loops.compiled import compiled

Floats = NDArray[np.float32]
FLAT = np.float32(9)
"""From here on tanh is 1 to the last bit."""
_HALF, _TWO = np.float32(0.5), np.float32(2)
_ABOVE = tuple(np.float32(one) for one in (135135, 17325, 378, 1))
_BELOW = tuple(np.float32(one) for one in (135135, 62370, 3150, 28))


@compiled
def tanh(x: np.float32) -> np.float32:
    """Of half of it by Lambert's continued fraction cut after its seventh term, then doubled; not a number stays so."""
    near = FLAT if x > FLAT else x
    near = -FLAT if near < -FLAT else near
    half = near * _HALF
    square = half * half
    above = half * (((_ABOVE[3] * square + _ABOVE[2]) * square + _ABOVE[1]) * square + _ABOVE[0])
    below = ((_BELOW[3] * square + _BELOW[2]) * square + _BELOW[1]) * square + _BELOW[0]
    return _TWO * above * below / (below * below + above * above)


@compiled
def logistic(x: np.float32) -> np.float32:
    """``1 / (1 + exp(-x))``."""
    return _HALF + _HALF * tanh(x * _HALF)


@compiled
def all_tanh(given: Floats) -> None:
    """In place, a vector."""
    for place in range(len(given)):
        given[place] = tanh(given[place])
