"""The likelihood of what is said, and what comes back to the states that it is said in."""

from __future__ import annotations

import math

import numpy as np

from apportion.environments.negotiation.action_encoding import ACTS, AGREE, SPLITS
from apportion.environments.negotiation.vectorized.engine import KEPT
from apportion.rlhf.negotiation.model.likelihood.arrays import Rows
from apportion.rlhf.negotiation.model.likelihood.matrices import add_rows, add_to_rows, linear, linear_back, plus
from apportion.rlhf.negotiation.model.loops.compiled import compiled, within
from apportion.rlhf.negotiation.model.loops.vectors import put
from apportion.rlhf.negotiation.model.loops.weights import Acting, Floats, Whole


@compiled
def _fitting(counts: Whole, out: Whole) -> int:
    """The acts that a pool has at all, written into ``out``; how many these are."""
    found = 0
    for act in range(ACTS):
        fits = True
        if act < AGREE:
            for item in range(3):
                fits = fits and KEPT[act % SPLITS, item] <= counts[item]
        if fits:
            out[found] = act
            found += 1
    return found


@compiled
def _missed(scores: Floats, fitting: Whole, target: int, share: np.float32) -> float:
    """Minus the log probability of the target; the scores become its gradient times ``share``."""
    highest, total = -np.float32(np.inf), np.float32(0)
    for act in fitting:
        highest = max(highest, scores[act])
    own = scores[target] - highest
    likely = np.empty(len(fitting), dtype=np.float32)
    for place in range(len(fitting)):
        likely[place] = math.exp(scores[fitting[place]] - highest)
        total += likely[place]
    for act in range(len(scores)):
        scores[act] = 0
    for place in range(len(fitting)):
        scores[fitting[place]] = share * likely[place] / total
    scores[target] -= share
    return float(math.log(total) - own)


@within
def said(
    weights: Acting,
    seed: int,
    states: Floats,
    table: Floats,
    targets: Whole,
    counts: Whole,
    rows: Rows,
    share: np.float32,
    grads: Acting,
    by_states: Floats,
    by_table: Floats,
) -> float:
    """``share`` times minus the log likelihood of all targets [shape=(B, T)].

    Gradients are written into ``grads``, ``by_states`` [shape=(R, H)] and ``by_table`` [shape=(253 or more, E)].
    """
    asked, wanted = np.empty(len(states), dtype=np.int64), np.empty(len(states), dtype=np.int64)
    count, steps = 0, targets.shape[1]
    for row in range(len(states)):
        dialogue, step = rows.dialogue[row], rows.step[row]
        if step < steps and targets[dialogue, step] >= 0:
            asked[count], wanted[count] = row, targets[dialogue, step]
            count += 1
    heard = np.empty((count, states.shape[1]), dtype=np.float32)
    for place in range(count):
        put(states[asked[place]], heard[place])
    out = linear(heard, weights.out[seed], weights.out_bias[seed])
    known = table[:ACTS]
    scores = np.dot(out, known.T)
    add_to_rows(weights.act_bias[seed], scores)
    total = 0.0
    fitting = np.empty((len(counts), ACTS), dtype=np.int64)
    sizes = np.empty(len(counts), dtype=np.int64)
    for dialogue in range(len(counts)):
        sizes[dialogue] = _fitting(counts[dialogue], fitting[dialogue])
    for place in range(count):
        dialogue = rows.dialogue[asked[place]]
        total += _missed(scores[place], fitting[dialogue, : sizes[dialogue]], wanted[place], share)
    np.dot(scores.T, out, by_table[:ACTS])
    add_rows(scores, grads.act_bias)
    by_heard = linear_back(np.dot(scores, known), weights.out[seed], heard, grads.out, grads.out_bias)
    for place in range(count):
        plus(by_heard[place], by_states[asked[place]])
    return float(share * total)
