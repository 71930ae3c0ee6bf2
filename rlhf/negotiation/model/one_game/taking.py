"""What is taken at the end of one game of every seed: `network.taken_scores` and `split_scores`, the likeliest."""

import math

import numpy as np

from apportion.environments.negotiation.action_encoding import SPLITS
from apportion.environments.negotiation.vectorized.engine import KEPT
from apportion.rlhf.negotiation.model.loops.compiled import compiled, within
from apportion.rlhf.negotiation.model.loops.curves import all_tanh
from apportion.rlhf.negotiation.model.loops.gates import gru_step
from apportion.rlhf.negotiation.model.loops.vectors import dot, put
from apportion.rlhf.negotiation.model.loops.weights import Floats, Taking, Whole
from apportion.rlhf.negotiation.model.one_game.arrays import Game
from apportion.rlhf.negotiation.model.one_game.products import add_product


@compiled
def _one_way(
    matrix: Floats,
    bias: Floats,
    state: Floats,
    state_bias: Floats,
    steps: Whole,
    heard: Floats,
    read: Floats,
    out: Floats,
) -> None:
    """A GRU over states [shape=(T, H)] and inputs [shape=(T, E)] in the order of ``steps``; ``out`` [shape=(T, A)]."""
    units, wide = len(state), heard.shape[1]
    before, parts = np.zeros(units, dtype=np.float32), np.empty((4, units), dtype=np.float32)
    brought: Floats = np.dot(heard, matrix[:wide]) + np.dot(read, matrix[wide:]) + bias
    for step in steps:
        own = state_bias.copy()
        add_product(before, state, own)
        gru_step(brought[step], own, before, parts[0], parts[1], parts[2], parts[3], out[step])
        put(out[step], before)


@compiled
def _log_sum(scores: Floats) -> np.float32:
    """The logarithm of the sum of the exponentials."""
    highest, total = -np.float32(np.inf), np.float32(0)
    for place in range(len(scores)):
        highest = max(highest, scores[place])
    for place in range(len(scores)):
        total += math.exp(scores[place] - highest)
    return highest + math.log(total)


@within
def _heads(weights: Taking, seed: int, both: Floats, context: Floats) -> Floats:
    """Log probabilities of the six numbers [shape=(6 * 5,)], of both ways' states [shape=(T, 2A)]."""
    shares = np.zeros(len(both), dtype=np.float32)
    seen = np.zeros(both.shape[1] + len(context), dtype=np.float32)
    put(context, seen[both.shape[1] :])
    for step in range(len(both)):
        looked = weights.attend_bias[seed].copy()
        add_product(both[step], weights.attend[seed], looked)
        all_tanh(looked)
        shares[step] = dot(looked, weights.attend_score[seed, :, 0])
    whole = _log_sum(shares)
    for step in range(len(both)):
        shares[step] = math.exp(shares[step] - whole)
    add_product(shares, both, seen[: both.shape[1]])
    layer: Floats = weights.select_bias[seed].copy()
    heads: Floats = weights.heads_bias[seed].copy()
    add_product(seen, weights.select[seed], layer)
    all_tanh(layer)
    add_product(layer, weights.heads[seed], heads)
    size = len(heads) // 6
    for head in range(6):
        own = heads[head * size : (head + 1) * size]
        whole = _log_sum(own)
        for place in range(size):
            own[place] -= whole
    return heads


@compiled
def _likeliest(heads: Floats, counts: Whole) -> int:
    """The split of a pool whose own and others' numbers together are likeliest."""
    best, highest, size = -1, -np.float32(np.inf), len(heads) // 6
    for split in range(SPLITS):
        total, fits = np.float32(0), True
        for item in range(3):
            left = counts[item] - KEPT[split, item]
            fits = fits and left >= 0
            if fits:
                total += heads[item * size + KEPT[split, item]] + heads[(3 + item) * size + left]
        if fits and (best < 0 or total > highest):
            best, highest = split, total
    return best


@within
def select(weights: Taking, seed: int, length: int, counts: Whole, game: Game) -> int:
    """The likeliest split after ``length`` acts, all of which were heard."""
    steps, units = np.arange(length + 1), weights.ahead_state.shape[1]
    both = np.zeros((len(steps), 2 * units), dtype=np.float32)
    heard, read = game.states[seed, 1 : len(steps) + 1], game.inputs[seed, : len(steps)]
    _one_way(
        weights.ahead[seed],
        weights.ahead_bias[seed],
        weights.ahead_state[seed],
        weights.ahead_state_bias[seed],
        steps,
        heard,
        read,
        both[:, :units],
    )
    _one_way(
        weights.back[seed],
        weights.back_bias[seed],
        weights.back_state[seed],
        weights.back_state_bias[seed],
        steps[::-1],
        heard,
        read,
        both[:, units:],
    )
    return _likeliest(_heads(weights, seed, both, game.context[seed]), counts)
