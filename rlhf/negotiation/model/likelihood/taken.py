"""The likelihood of what is taken at the end, and what comes back to what was heard; `network.taken_scores`."""

from __future__ import annotations

import math

import numpy as np

from apportion.rlhf.negotiation.data.dialogues import NOT_TAKEN
from apportion.rlhf.negotiation.model.likelihood.arrays import Rows
from apportion.rlhf.negotiation.model.likelihood.matrices import ONE, bend, curve, linear, linear_back, scale
from apportion.rlhf.negotiation.model.likelihood.steps import Kept, gru, gru_back
from apportion.rlhf.negotiation.model.loops.compiled import compiled, within
from apportion.rlhf.negotiation.model.loops.vectors import add, dot, put
from apportion.rlhf.negotiation.model.loops.weights import Floats, Taking, Whole
from apportion.rlhf.negotiation.model.network import CLASSES, HEADS


@compiled
def _missed(heads: Floats, taken: Whole, share: np.float32) -> float:
    """``share`` times minus the log probability of what is taken; the heads [shape=(30,)] become its gradient."""
    found = 0.0
    for head in range(HEADS):
        own = heads[head * CLASSES : (head + 1) * CLASSES]
        if taken[head] == NOT_TAKEN:
            for place in range(CLASSES):
                own[place] = 0
            continue
        highest, total = own[0], np.float32(0)
        for place in range(1, CLASSES):
            highest = max(highest, own[place])
        score = own[taken[head]] - highest
        for place in range(CLASSES):
            own[place] = math.exp(own[place] - highest)
            total += own[place]
        found += share * (math.log(total) - score)
        for place in range(CLASSES):
            own[place] *= share / total
        own[taken[head]] -= share
    return found


@within
def _attention(scores: Floats, rows: Rows, dialogues: int) -> Floats:
    """Shares of each dialogue's rows, of their scores [shape=(R,)]."""
    highest = np.full(dialogues, -np.float32(np.inf), dtype=np.float32)
    total = np.zeros(dialogues, dtype=np.float32)
    shares = np.empty(len(scores), dtype=np.float32)
    for row in range(len(scores)):
        highest[rows.dialogue[row]] = max(highest[rows.dialogue[row]], scores[row])
    for row in range(len(scores)):
        shares[row] = math.exp(scores[row] - highest[rows.dialogue[row]])
        total[rows.dialogue[row]] += shares[row]
    for row in range(len(scores)):
        shares[row] /= total[rows.dialogue[row]]
    return shares


@within
def _attention_back(shares: Floats, both: Floats, by_seen: Floats, rows: Rows) -> Floats:
    """What comes back to the scores of `_attention` [shape=(R,)]."""
    worth, mean = np.empty(len(shares), dtype=np.float32), np.zeros(len(by_seen), dtype=np.float32)
    for row in range(len(shares)):
        dialogue = rows.dialogue[row]
        worth[row] = dot(by_seen[dialogue], both[row])
        mean[dialogue] += shares[row] * worth[row]
    for row in range(len(shares)):
        worth[row] = shares[row] * (worth[row] - mean[rows.dialogue[row]])
    return worth


@within
def _selected(
    weights: Taking,
    seed: int,
    both: Floats,
    context: Floats,
    taken: Whole,
    rows: Rows,
    left_out: Floats,
    share: np.float32,
    grads: Taking,
    by_context: Floats,
) -> tuple[float, Floats]:
    """The loss of both ways' states [shape=(R, 2A)], and what comes back to them."""
    count, width = len(context), both.shape[1]
    looked = linear(both, weights.attend[seed], weights.attend_bias[seed])
    curve(looked)
    attending = weights.attend_score[seed, :, 0]
    shares = _attention(np.dot(looked, weights.attend_score[seed])[:, 0], rows, count)
    seen = np.zeros((count, width + context.shape[1]), dtype=np.float32)
    for dialogue in range(count):
        put(context[dialogue], seen[dialogue, width:])
    for row in range(len(both)):
        add(both[row], shares[row], seen[rows.dialogue[row], :width])
    layer = linear(seen, weights.select[seed], weights.select_bias[seed])
    curve(layer)
    kept = layer.copy()
    scale(left_out, kept)
    heads = linear(kept, weights.heads[seed], weights.heads_bias[seed])
    found = 0.0
    for dialogue in range(count):
        found += _missed(heads[dialogue], taken[dialogue], share)
    by_layer = linear_back(heads, weights.heads[seed], kept, grads.heads, grads.heads_bias)
    scale(left_out, by_layer)
    bend(layer, by_layer)
    by_seen = linear_back(by_layer, weights.select[seed], seen, grads.select, grads.select_bias)
    for dialogue in range(count):
        add(by_seen[dialogue, width:], ONE, by_context[dialogue])
    worth = _attention_back(shares, both, by_seen[:, :width], rows)
    by_looked = np.empty_like(looked)
    for row in range(len(looked)):
        add(looked[row], worth[row], grads.attend_score[:, 0])
        for place in range(looked.shape[1]):
            by_looked[row, place] = worth[row] * attending[place]
    bend(looked, by_looked)
    by_both = linear_back(by_looked, weights.attend[seed], both, grads.attend, grads.attend_bias)
    for row in range(len(both)):
        add(by_seen[rows.dialogue[row], :width], shares[row], by_both[row])
    return found, by_both


@within
def _ways(weights: Taking, seed: int, heard: Floats, rows: Rows) -> tuple[Kept, Kept]:
    ahead = linear(heard, weights.ahead[seed], weights.ahead_bias[seed])
    back = linear(heard, weights.back[seed], weights.back_bias[seed])
    return (
        gru(ahead, weights.ahead_state[seed], weights.ahead_state_bias[seed], rows, False),
        gru(back, weights.back_state[seed], weights.back_state_bias[seed], rows, True),
    )


@within
def at_the_end(
    weights: Taking,
    seed: int,
    heard: Floats,
    context: Floats,
    taken: Whole,
    rows: Rows,
    left_out: Floats,
    share: np.float32,
    grads: Taking,
    by_context: Floats,
) -> tuple[float, Floats]:
    """``share`` times minus the log likelihood of what is taken, and what comes back to ``heard`` [shape=(R, H + E)].

    Gradients are written into ``grads`` and added to ``by_context`` [shape=(B, C)]; ``left_out`` [shape=(B, s)] is what
    dropout multiplies the selection's layer by.
    """
    ahead, back = _ways(weights, seed, heard, rows)
    units = ahead.states.shape[1]
    both = np.empty((len(heard), 2 * units), dtype=np.float32)
    for row in range(len(both)):
        put(ahead.states[row], both[row, :units])
        put(back.states[row], both[row, units:])
    found, by_both = _selected(weights, seed, both, context, taken, rows, left_out, share, grads, by_context)
    given_ahead, given_back = np.empty_like(ahead.states), np.empty_like(back.states)
    for row in range(len(both)):
        put(by_both[row, :units], given_ahead[row])
        put(by_both[row, units:], given_back[row])
    by_ahead = gru_back(
        given_ahead,
        ahead,
        weights.ahead_state[seed],
        rows,
        False,
        grads.ahead_state,
        grads.ahead_state_bias,
    )
    by_back = gru_back(
        given_back,
        back,
        weights.back_state[seed],
        rows,
        True,
        grads.back_state,
        grads.back_state_bias,
    )
    by_heard = linear_back(by_ahead, weights.ahead[seed], heard, grads.ahead, grads.ahead_bias)
    other = linear_back(by_back, weights.back[seed], heard, grads.back, grads.back_bias)
    for row in range(len(by_heard)):
        add(other[row], ONE, by_heard[row])
    return found, by_heard
