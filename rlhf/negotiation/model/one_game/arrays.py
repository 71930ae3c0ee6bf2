"""What is kept of the one game that each seed plays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from apportion.environments.negotiation.action_encoding import ACTS
from apportion.environments.negotiation.rules import MOST_ACTS
from apportion.rlhf.negotiation.data.dialogues import TOKENS
from apportion.rlhf.negotiation.model.loops.weights import Acting, Flags, Floats, Whole


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
