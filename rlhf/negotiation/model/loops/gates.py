"""One step of a GRU for one row, as `recurrent.gru_step` does it for many."""

import numpy as np
from numpy.typing import NDArray

from apportion.rlhf.negotiation.model.loops.compiled import compiled
from apportion.rlhf.negotiation.model.loops.curves import logistic, tanh

Floats = NDArray[np.float32]


@compiled
def gru_step(
    brought: Floats,
    own: Floats,
    before: Floats,
    reset: Floats,
    update: Floats,
    fresh: Floats,
    held: Floats,
    after: Floats,
) -> None:
    """The state ``after`` one before it, of what an input ``brought`` and what is of the state's ``own`` [shape=(3H,)].

    What its gradient needs is kept in ``reset``, ``update``, ``fresh`` and ``held`` [shape=(H,)].
    """
    units = len(before)
    for unit in range(units):
        reset[unit] = logistic(brought[unit] + own[unit])
    for unit in range(units):
        update[unit] = logistic(brought[units + unit] + own[units + unit])
    for unit in range(units):
        held[unit] = own[2 * units + unit]
    for unit in range(units):
        fresh[unit] = tanh(brought[2 * units + unit] + reset[unit] * held[unit])
    for unit in range(units):
        after[unit] = fresh[unit] + update[unit] * (before[unit] - fresh[unit])
