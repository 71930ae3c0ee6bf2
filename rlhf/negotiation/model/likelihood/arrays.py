"""All weights of S seeds, the gradient of one, and a batch of dialogues by the rows that are there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from apportion.rlhf.negotiation.model.loops.compiled import compiled
from apportion.rlhf.negotiation.model.loops.weights import (
    ACTING_NAMES,
    TAKING_NAMES,
    Acting,
    Floats,
    Taking,
    Whole,
    acting_arrays,
    taking_arrays,
)
from apportion.rlhf.negotiation.model.network import Weights


class Network(NamedTuple):
    """Every weight; of a gradient without the seeds."""

    acting: Acting
    taking: Taking


NAMES = (*ACTING_NAMES, *TAKING_NAMES)
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
    return Network(acting_arrays(weights), taking_arrays(weights))


def room_for_gradient(weights: Weights) -> tuple[Floats, Network]:
    """One seed's gradient, as one vector and as views of it by weight."""
    shapes = [tuple(weights[name].shape[1:]) for name in NAMES]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    whole = np.zeros(int(ends[-1]), dtype=np.float32)
    parts = np.split(whole, ends[:-1])
    views = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    return whole, Network(Acting(*views[: len(ACTING_NAMES)]), Taking(*views[len(ACTING_NAMES) :]))


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
