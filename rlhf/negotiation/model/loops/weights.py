"""The weights of S seeds as arrays: what decides acts, and what decides what is taken."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion.environments.negotiation.action_encoding import INSIST, SPLITS
from apportion.environments.negotiation.vectorized.engine import KEPT
from apportion.rlhf.negotiation.model.network import MOST_COUNT, PARTS, Weights

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
ACTING_NAMES = (*_READ, "act.bias", "gru.in", "gru.in_bias", "gru.state", "gru.state_bias")
_WAYS = tuple(f"{way}.{part}" for way in ("ahead", "back") for part in ("in", "in_bias", "state", "state_bias"))
_REST = ("attend.weight", "attend.bias", "attend.score", "select.weight", "select.bias", "heads.weight", "heads.bias")
TAKING_NAMES = (*_WAYS, *_REST)
"""The weights' own names, in the order of `Acting` and `Taking`."""


def acting_arrays(weights: Weights) -> Acting:
    """Views of the weights: who changes them changes the tensors."""
    return Acting(*(weights[name].numpy() for name in ACTING_NAMES))


def taking_arrays(weights: Weights) -> Taking:
    """Views of the weights."""
    return Taking(*(weights[name].numpy() for name in TAKING_NAMES))


def _parts_of_acts() -> Whole:
    kept = 2 + (MOST_COUNT + 1) * np.arange(3) + KEPT
    kinds = [np.full((SPLITS, 1), kind) for kind in (0, 1)]
    return np.concatenate([np.concatenate([kind, kept], axis=1) for kind in kinds]).astype(np.int64)


PARTS_OF: Whole = _parts_of_acts()
"""The four parts that an act with a split is made of besides its own vector [shape=(250, 4)]."""
assert len(PARTS_OF) == 2 * INSIST and PARTS_OF.max() < PARTS
