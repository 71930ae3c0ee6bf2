"""A GRU over the rows of a batch, and back through it; `recurrent` without padding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from apportion.rlhf.negotiation.model.likelihood.arrays import Rows
from apportion.rlhf.negotiation.model.likelihood.matrices import ONE, add_rows, plus
from apportion.rlhf.negotiation.model.loops.compiled import compiled, within
from apportion.rlhf.negotiation.model.loops.gates import gru_step
from apportion.rlhf.negotiation.model.loops.vectors import put
from apportion.rlhf.negotiation.model.loops.weights import Floats


class Kept(NamedTuple):
    """Of every row: the state before and after, both gates, what is new, and what the state brought to that."""

    before: Floats
    states: Floats
    reset: Floats
    update: Floats
    fresh: Floats
    held: Floats


@within
def gru(brought: Floats, weight: Floats, bias: Floats, rows: Rows, backwards: bool) -> Kept:
    """All states, of what the inputs brought to the gates [shape=(R, 3H)]; from the last step on with ``backwards``."""
    count, units, steps = len(brought), len(weight), len(rows.active)
    kept = Kept(
        np.zeros((count, units), np.float32),
        np.empty((count, units), np.float32),
        np.empty((count, units), np.float32),
        np.empty((count, units), np.float32),
        np.empty((count, units), np.float32),
        np.empty((count, units), np.float32),
    )
    for turn in range(steps):
        step = steps - 1 - turn if backwards else turn
        first, active = rows.first[step], rows.active[step]
        other = step + 1 if backwards else step - 1
        known = min(active, rows.active[other]) if turn else 0
        for place in range(known):
            put(kept.states[rows.first[other] + place], kept.before[first + place])
        own = np.dot(kept.before[first : first + active], weight)
        for place in range(active):
            row = first + place
            plus(bias, own[place])
            gru_step(
                brought[row],
                own[place],
                kept.before[row],
                kept.reset[row],
                kept.update[row],
                kept.fresh[row],
                kept.held[row],
                kept.states[row],
            )
    return kept


@compiled
def _through_gate(
    whole: Floats,
    before: Floats,
    reset: Floats,
    update: Floats,
    fresh: Floats,
    held: Floats,
    brought: Floats,
    own: Floats,
) -> None:
    """What a state's gradient brings to the gates, by what was read and by the state before."""
    units = len(whole)
    for unit in range(units):
        new = whole[unit] * (ONE - update[unit]) * (ONE - fresh[unit] * fresh[unit])
        brought[2 * units + unit] = new
        own[2 * units + unit] = new * reset[unit]
        brought[unit] = own[unit] = new * held[unit] * reset[unit] * (ONE - reset[unit])
    for unit in range(units):
        gate = whole[unit] * (before[unit] - fresh[unit]) * update[unit] * (ONE - update[unit])
        brought[units + unit] = own[units + unit] = gate


@within
def gru_back(
    given: Floats, kept: Kept, weight: Floats, rows: Rows, backwards: bool, by_weight: Floats, by_bias: Floats
) -> Floats:
    """What comes back to the gates [shape=(R, 3H)], of what comes back to the states [shape=(R, H)], which it adds to.

    The weight's gradient is written into ``by_weight``, the bias's added to ``by_bias``.
    """
    count, units, steps = len(given), len(weight), len(rows.active)
    brought, own = np.empty((count, 3 * units), np.float32), np.empty((count, 3 * units), np.float32)
    turned = weight.T.copy()  # Read once a step: rows that stand together are multiplied three times as fast.
    for turn in range(steps - 1, -1, -1):
        step = steps - 1 - turn if backwards else turn
        first, active = rows.first[step], rows.active[step]
        for row in range(first, first + active):
            _through_gate(
                given[row],
                kept.before[row],
                kept.reset[row],
                kept.update[row],
                kept.fresh[row],
                kept.held[row],
                brought[row],
                own[row],
            )
        if turn:
            other = step + 1 if backwards else step - 1
            carried = np.dot(own[first : first + active], turned)
            for place in range(min(active, rows.active[other])):
                back, whole, update = given[rows.first[other] + place], given[first + place], kept.update[first + place]
                one = carried[place]
                for unit in range(units):
                    back[unit] += one[unit] + whole[unit] * update[unit]
    np.dot(kept.before.T, own, by_weight)
    add_rows(own, by_bias)
    return brought
