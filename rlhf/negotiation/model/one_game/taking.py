"""What is taken at the end of one game of every seed: `network.taken_scores` and `split_scores`, the likeliest."""

import math

import numpy as np
from numba import njit

from environments.negotiation.batched.engine import KEPT
from environments.negotiation.codes import SPLITS
from rlhf.negotiation.model.one_game.acting import ONE, hear
from rlhf.negotiation.model.one_game.arrays import Acting, Flags, Floats, Game, Taking, Whole
from rlhf.negotiation.model.one_game.products import add_product, dot


@njit(cache=True)
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
    before = np.zeros(units, dtype=np.float32)
    for step in steps:
        brought, own = bias.copy(), state_bias.copy()
        add_product(heard[step], matrix[:wide], brought)
        add_product(read[step], matrix[wide:], brought)
        add_product(before, state, own)
        for unit in range(units):
            reset = ONE / (ONE + math.exp(-(brought[unit] + own[unit])))
            update = ONE / (ONE + math.exp(-(brought[units + unit] + own[units + unit])))
            fresh = math.tanh(brought[2 * units + unit] + reset * own[2 * units + unit])
            before[unit] = fresh + update * (before[unit] - fresh)
        out[step] = before


@njit(cache=True)
def _heads(weights: Taking, seed: int, both: Floats, context: Floats) -> Floats:
    """Log probabilities of the six numbers [shape=(6, 5)], of both ways' states [shape=(T, 2A)]."""
    shares = np.empty(len(both), dtype=np.float32)
    for step in range(len(both)):
        looked = weights.attend_bias[seed].copy()
        add_product(both[step], weights.attend[seed], looked)
        shares[step] = dot(np.tanh(looked), weights.attend_score[seed, :, 0])
    shares = np.exp(shares - shares.max())
    shares /= shares.sum()
    seen = np.zeros(both.shape[1] + len(context), dtype=np.float32)
    add_product(shares, both, seen[: both.shape[1]])
    seen[both.shape[1] :] = context
    layer = weights.select_bias[seed].copy()
    add_product(seen, weights.select[seed], layer)
    flat = weights.heads_bias[seed].copy()
    add_product(np.tanh(layer), weights.heads[seed], flat)
    heads: Floats = flat.reshape(6, -1)
    for head in range(6):
        heads[head] -= heads[head].max()
        heads[head] -= np.log(np.exp(heads[head]).sum())
    return heads


@njit(cache=True)
def _likeliest(heads: Floats, counts: Whole) -> int:
    """The split of a pool whose own and others' numbers together are likeliest."""
    best, highest = -1, -np.float32(np.inf)
    for split in range(SPLITS):
        total, fits = np.float32(0), True
        for item in range(3):
            left = counts[item] - KEPT[split, item]
            fits = fits and left >= 0
            if fits:
                total += heads[item, KEPT[split, item]] + heads[3 + item, left]
        if fits and (best < 0 or total > highest):
            best, highest = split, total
    return best


@njit(cache=True)
def select(
    acting: Acting,
    weights: Taking,
    asked: Flags,
    lengths: Whole,
    last: Whole,
    roles: Whole,
    counts: Whole,
    game: Game,
) -> Whole:
    """The likeliest split where a seed is ``asked`` [shape=(S,)], else -1.

    ``last`` is what was said last, which is heard now, ``roles`` who would be next.
    """
    taken = np.full(len(asked), -1)
    room = np.empty_like(game.beside[0]), np.empty_like(game.beside[0])
    for seed in range(len(asked)):
        if asked[seed]:
            hear(acting, seed, lengths[seed], last[seed], roles[seed], game, room[0], room[1])
            steps = np.arange(lengths[seed] + 1)
            units = weights.ahead_state.shape[1]
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
            taken[seed] = _likeliest(_heads(weights, seed, both, game.context[seed]), counts[seed])
    return taken
