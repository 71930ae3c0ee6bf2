"""The weights of S seeds as arrays, the gradient of one, and a batch of dialogues by the rows that are there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlhf.negotiation.model.loops.compiled import compiled
from rlhf.negotiation.model.network import Weights

Floats = NDArray[np.float32]
Whole = NDArray[np.int64]


class Network(NamedTuple):
    """Every weight of `network.shapes`; of a gradient without the seeds."""

    act: Floats
    part: Floats
    role: Floats
    item_count: Floats
    item_value: Floats
    context: Floats
    context_bias: Floats
    out: Floats
    out_bias: Floats
    act_bias: Floats
    attend: Floats
    attend_bias: Floats
    attend_score: Floats
    select: Floats
    select_bias: Floats
    heads: Floats
    heads_bias: Floats
    entering: Floats
    entering_bias: Floats
    state: Floats
    state_bias: Floats
    ahead: Floats
    ahead_bias: Floats
    ahead_state: Floats
    ahead_state_bias: Floats
    back: Floats
    back_bias: Floats
    back_state: Floats
    back_state_bias: Floats


NAMES = (
    *("act", "part", "role", "count", "value", "context.weight", "context.bias", "out.weight", "out.bias", "act.bias"),
    *("attend.weight", "attend.bias", "attend.score", "select.weight", "select.bias", "heads.weight", "heads.bias"),
    *(f"{gru}.{part}" for gru in ("gru", "ahead", "back") for part in ("in", "in_bias", "state", "state_bias")),
)
"""The weights' own names, in the order of `Network`."""


def network_arrays(weights: Weights) -> Network:
    """Views of the weights: who changes them changes the tensors.

    Raises
    ------
    ValueError
        One is not contiguous, so that a step would go to a copy.
    """
    for name in NAMES:
        if not weights[name].is_contiguous():
            raise ValueError(f"{name}: not contiguous; train `.contiguous()` of it")
    return Network(*(weights[name].numpy() for name in NAMES))


def room_for_gradient(weights: Weights) -> tuple[Floats, Network]:
    """One seed's gradient, as one vector and as views of it by weight."""
    shapes = [tuple(weights[name].shape[1:]) for name in NAMES]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    whole = np.zeros(int(ends[-1]), dtype=np.float32)
    parts = np.split(whole, ends[:-1])
    return whole, Network(*(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)))


class Batch(NamedTuple):
    """Dialogues of S seeds [shape=(S, B, ...)], of T acts at most; what is drawn for dropout is empty without it.

    ``inputs`` and ``roles`` are of T + 1 steps, ``targets`` of T (-1: none), ``taken`` of six numbers (-1: none).
    """

    inputs: Whole
    roles: Whole
    targets: Whole
    counts: Whole
    values: Whole
    taken: Whole
    lengths: Whole
    embedded_draws: Floats
    state_draws: Floats
    layer_draws: Floats


class Rows(NamedTuple):
    """The steps of one seed's dialogues, one row each: step t of all that have it stands together, longest first.

    ``order`` are the dialogues by length, ``active`` how many have a step, ``first`` where its rows begin (and, last,
    how many rows there are), ``dialogue`` and ``step`` of each row.
    """

    order: Whole
    active: Whole
    first: Whole
    dialogue: Whole
    step: Whole


@compiled
def rows_of(lengths: Whole) -> Rows:
    """Of dialogues of so many acts [shape=(B,)]; each has one step more."""
    order = np.argsort(-lengths, kind="mergesort")
    steps = lengths[order[0]] + 1
    active, first = np.zeros(steps, dtype=np.int64), np.zeros(steps + 1, dtype=np.int64)
    for length in lengths:
        active[: length + 1] += 1
    for step in range(steps):
        first[step + 1] = first[step] + active[step]
    dialogue, at = np.empty(first[steps], dtype=np.int64), np.empty(first[steps], dtype=np.int64)
    for step in range(steps):
        for place in range(active[step]):
            dialogue[first[step] + place], at[first[step] + place] = order[place], step
    return Rows(order, active, first, dialogue, at)
