"""Reading one game of every seed, and choosing an act, as `network` and `player` do it for many games at once."""

import math

import numpy as np
from numpy.typing import NDArray

from rlhf.negotiation.data.dialogues import OWN
from rlhf.negotiation.model.one_game.arrays import PARTS_OF, Acting, Flags, Floats, Game, Whole
from rlhf.negotiation.model.one_game.compiled import compiled
from rlhf.negotiation.model.one_game.products import add, add_product, dot, put
from rlhf.negotiation.model.player import ALMOST_ONE

ONE = np.float32(1)


@compiled
def begin(weights: Acting, counts: Whole, values: Whole, game: Game) -> None:
    """Read the contexts [shapes=(S, 3)]; `network.read_context` and `context_brings`."""
    size = weights.item_count.shape[2]
    wide = weights.role.shape[2]
    for seed in range(len(counts)):
        known, context, beside = game.known[seed], game.context[seed], game.beside[seed]
        for item in range(3):
            many, worth = weights.item_count[seed, counts[seed, item]], weights.item_value[seed, values[seed, item]]
            for place in range(size):
                known[item * size + place] = math.tanh(many[place] * worth[place])
        put(weights.context_bias[seed], context)
        add_product(known, weights.context[seed], context)
        for place in range(len(context)):
            context[place] = math.tanh(context[place])
        put(weights.entering_bias[seed], beside)
        add_product(context, weights.entering[seed, wide:], beside)
        for unit in range(game.states.shape[2]):
            game.states[seed, 0, unit] = 0


@compiled
def embedding(weights: Acting, seed: int, token: int, game: Game) -> Floats:
    """A row of the table, made where it is first asked for."""
    row: Floats = game.table[seed, token]
    if not game.ready[seed, token]:
        game.ready[seed, token] = True
        put(weights.act[seed, token], row)
        if token < len(PARTS_OF):
            for part in PARTS_OF[token]:
                add(weights.part[seed, part], ONE, row)
    return row


@compiled
def gru_step(
    brought: Floats,
    own: Floats,
    before: Floats,
    reset: Floats,
    update: Floats,
    fresh: Floats,
    held: Floats,
    after: Floats,
) -> None:
    """The state ``after`` one before it, of what an input ``brought`` and what is of the state's ``own`` [shape=(3H,)].

    What `learning` needs is kept in ``reset``, ``update``, ``fresh`` and ``held`` [shape=(H,)].
    """
    units = len(before)
    for unit in range(units):
        reset[unit] = ONE / (ONE + math.exp(-(brought[unit] + own[unit])))
        update[unit] = ONE / (ONE + math.exp(-(brought[units + unit] + own[units + unit])))
        held[unit] = own[2 * units + unit]
        fresh[unit] = math.tanh(brought[2 * units + unit] + reset[unit] * held[unit])
        after[unit] = fresh[unit] + update[unit] * (before[unit] - fresh[unit])


@compiled
def hear(
    weights: Acting, seed: int, turn: int, token: int, role: int, game: Game, own: Floats, brought: Floats
) -> None:
    """One more step of a seed's GRU; ``own`` and ``brought`` [shape=(3H,)] are room to work in."""
    wide = weights.role.shape[2]
    game.tokens[seed, turn], game.roles[seed, turn] = token, role
    given, before, after = game.inputs[seed, turn], game.states[seed, turn], game.states[seed, turn + 1]
    put(embedding(weights, seed, token, game), given)
    add(weights.role[seed, role], ONE, given)
    put(weights.state_bias[seed], own)
    add_product(before, weights.state[seed], own)
    put(game.beside[seed], brought)
    add_product(given, weights.entering[seed, :wide], brought)
    gru_step(
        brought,
        own,
        before,
        game.reset[seed, turn],
        game.update[seed, turn],
        game.fresh[seed, turn],
        game.held[seed, turn],
        after,
    )


@compiled
def score(weights: Acting, seed: int, turn: int, legal: Flags, game: Game) -> None:
    """The scores of the acts that are ``legal`` [shape=(253,)]."""
    out = game.outs[seed, turn]
    put(weights.out_bias[seed], out)
    add_product(game.states[seed, turn + 1], weights.out[seed], out)
    for act in range(len(legal)):
        game.legal[seed, turn, act] = legal[act]
        if legal[act]:
            row = embedding(weights, seed, act, game)
            game.scores[seed, turn, act] = weights.act_bias[seed, act] + dot(row, out)


@compiled
def chances_of(scores: Floats, legal: Flags, temperature: np.float32, out: Floats) -> None:
    """The probabilities of legal acts; 0 for the others."""
    highest, total = -np.float32(np.inf), np.float32(0)
    for act in range(len(legal)):
        if legal[act]:
            highest = max(highest, scores[act])
    for act in range(len(legal)):
        out[act] = math.exp((scores[act] - highest) / temperature) if legal[act] else np.float32(0)
        total += out[act]
    for act in range(len(legal)):
        out[act] /= total


@compiled
def chosen(scores: Floats, legal: Flags, temperature: np.float32, draw: float, room: Floats) -> int:
    """An act by a number in [0, 1), or with temperature 0 the likeliest; the first legal one of equals."""
    best = -1
    if temperature == 0:
        for act in range(len(legal)):
            if legal[act] and (best < 0 or scores[act] > scores[best]):
                best = act
        return best
    chances_of(scores, legal, temperature, room)
    whole, total = 0.0, 0.0
    for act in range(len(legal)):
        whole += room[act]
    wanted = min(draw, ALMOST_ONE) * whole  # Below all of it, so that an act without a chance is never reached.
    for act in range(len(legal)):
        if legal[act]:
            best = act
            total += room[act]
            if total > wanted:
                break
    return best


@compiled
def choose(
    weights: Acting,
    turn: int,
    tokens: Whole,
    roles: Whole,
    playing: Flags,
    legal: Flags,
    temperature: np.float32,
    draws: NDArray[np.float64],
    game: Game,
) -> Whole:
    """What every seed that is still ``playing`` says after reading one more, -1 where it is not its turn."""
    acts = np.full(len(tokens), -1)
    own, brought = np.empty_like(game.beside[0]), np.empty_like(game.beside[0])
    room = np.empty_like(game.scores[0, 0])
    for seed in range(len(tokens)):
        if playing[seed]:
            hear(weights, seed, turn, tokens[seed], roles[seed], game, own, brought)
            if roles[seed] == OWN:
                score(weights, seed, turn, legal[seed], game)
                acts[seed] = chosen(game.scores[seed, turn], legal[seed], temperature, draws[seed], room)
    return acts
