"""The weights of S seeds as arrays, and what is kept of the one game that each of them plays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from environments.negotiation.batched.engine import KEPT
from environments.negotiation.codes import ACTS, INSIST, SPLITS
from environments.negotiation.rules import MOST_ACTS
from rlhf.negotiation.data.dialogues import TOKENS
from rlhf.negotiation.model.network import MOST_COUNT, PARTS, Weights

Floats = NDArray[np.float32]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Acting(NamedTuple):
    """What decides acts, every array beginning with the seeds; shapes as in `network.shapes`."""

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
    entering: Floats
    entering_bias: Floats
    state: Floats
    state_bias: Floats


class Taking(NamedTuple):
    """What decides what is taken at the end."""

    ahead: Floats
    ahead_bias: Floats
    ahead_state: Floats
    ahead_state_bias: Floats
    back: Floats
    back_bias: Floats
    back_state: Floats
    back_state_bias: Floats
    attend: Floats
    attend_bias: Floats
    attend_score: Floats
    select: Floats
    select_bias: Floats
    heads: Floats
    heads_bias: Floats


_READ = ("act", "part", "role", "count", "value", "context.weight", "context.bias", "out.weight", "out.bias")
_ACTING = (*_READ, "act.bias", "gru.in", "gru.in_bias", "gru.state", "gru.state_bias")
_WAYS = tuple(f"{way}.{part}" for way in ("ahead", "back") for part in ("in", "in_bias", "state", "state_bias"))
_REST = ("attend.weight", "attend.bias", "attend.score", "select.weight", "select.bias", "heads.weight", "heads.bias")


def acting_arrays(weights: Weights) -> Acting:
    """Views of the weights: who changes them changes the tensors."""
    return Acting(*(weights[name].numpy() for name in _ACTING))


def taking_arrays(weights: Weights) -> Taking:
    """Views of the weights."""
    return Taking(*(weights[name].numpy() for name in (*_WAYS, *_REST)))


class Game(NamedTuple):
    """What a seat has read and said in the game that each seed plays: T acts at most, state t being before input t.

    ``table`` and ``ready`` are the embeddings and which of them are made, ``gates`` and ``heard`` what tokens bring to
    the gates as either side's (token t of role r is row 2 t + r) and which of that is made; ``known`` what the context
    is made of, ``context`` and ``beside`` what it is and brings to the gates; of each step ``tokens`` and ``roles``
    that were read, ``inputs`` (embedded), ``states``, the gates ``reset`` and ``update``, what is ``fresh`` and what
    was ``held``; of each own act ``outs`` (which the acts' embeddings are compared with), ``scores`` and what was
    ``legal``.
    """

    table: Floats
    ready: Flags
    gates: Floats
    heard: Flags
    known: Floats
    context: Floats
    beside: Floats
    tokens: Whole
    roles: Whole
    inputs: Floats
    states: Floats
    reset: Floats
    update: Floats
    fresh: Floats
    held: Floats
    outs: Floats
    scores: Floats
    legal: Flags

    @classmethod
    def of(cls, weights: Acting) -> Game:
        """Room for one game of every seed."""
        seeds, _, wide = weights.act.shape
        known, context = weights.context.shape[1:]
        units, steps = weights.state.shape[1], MOST_ACTS + 1

        def room(*shape: int) -> Floats:
            return np.zeros((seeds, *shape), dtype=np.float32)

        return cls(
            room(TOKENS, wide),
            np.zeros((seeds, TOKENS), dtype=np.bool_),
            room(2 * TOKENS, 3 * units),
            np.zeros((seeds, 2 * TOKENS), dtype=np.bool_),
            room(known),
            room(context),
            room(3 * units),
            np.zeros((seeds, steps), dtype=np.int64),
            np.zeros((seeds, steps), dtype=np.int64),
            room(steps, wide),
            room(steps + 1, units),
            room(steps, units),
            room(steps, units),
            room(steps, units),
            room(steps, units),
            room(MOST_ACTS, wide),
            room(MOST_ACTS, ACTS),
            np.zeros((seeds, MOST_ACTS, ACTS), dtype=np.bool_),
        )

    def forget(self) -> None:
        """Make embeddings, and what they bring, anew: the weights have changed."""
        self.ready.fill(False)
        self.heard.fill(False)


def _parts_of_acts() -> Whole:
    kept = 2 + (MOST_COUNT + 1) * np.arange(3) + KEPT
    kinds = [np.full((SPLITS, 1), kind) for kind in (0, 1)]
    return np.concatenate([np.concatenate([kind, kept], axis=1) for kind in kinds]).astype(np.int64)


PARTS_OF: Whole = _parts_of_acts()
"""The four parts that an act with a split is made of besides its own vector [shape=(250, 4)]."""
assert len(PARTS_OF) == 2 * INSIST and PARTS_OF.max() < PARTS
