"""What is taken at the end of one game of every seed: `network.taken_scores` and `split_scores`, the likeliest."""

import math

import numpy as np

from environments.negotiation.batched.engine import KEPT
from environments.negotiation.codes import SPLITS
from rlhf.negotiation.model.one_game.acting import gru_step, hear
from rlhf.negotiation.model.one_game.arrays import Acting, Flags, Floats, Game, Taking, Whole
from rlhf.negotiation.model.one_game.compiled import compiled
from rlhf.negotiation.model.one_game.products import add_product, put


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
    for step in steps:
        brought, own = bias.copy(), state_bias.copy()
        add_product(heard[step], matrix[:wide], brought)
        add_product(read[step], matrix[wide:], brought)
        add_product(before, state, own)
        gru_step(brought, own, before, parts[0], parts[1], parts[2], parts[3], out[step])
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


@compiled
def _heads(weights: Taking, seed: int, both: Floats, context: Floats) -> Floats:
    """Log probabilities of the six numbers [shape=(6 * 5,)], of both ways' states [shape=(T, 2A)]."""
    shares = np.zeros(len(both), dtype=np.float32)
    seen = np.zeros(both.shape[1] + len(context), dtype=np.float32)
    put(context, seen[both.shape[1] :])
    for step in range(len(both)):
        looked = weights.attend_bias[seed].copy()
        add_product(both[step], weights.attend[seed], looked)
        for place in range(len(looked)):
            shares[step] += math.tanh(looked[place]) * weights.attend_score[seed, place, 0]
    whole = _log_sum(shares)
    for step in range(len(both)):
        shares[step] = math.exp(shares[step] - whole)
    add_product(shares, both, seen[: both.shape[1]])
    layer: Floats = weights.select_bias[seed].copy()
    heads: Floats = weights.heads_bias[seed].copy()
    add_product(seen, weights.select[seed], layer)
    for place in range(len(layer)):
        layer[place] = math.tanh(layer[place])
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


@compiled
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
