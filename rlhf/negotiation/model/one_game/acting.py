"""Reading one game of every seed, and choosing an act, as `network` and `player` do it for many games at once."""

import math

import numpy as np

from apportion.rlhf.negotiation.model.loops.compiled import compiled, within
from apportion.rlhf.negotiation.model.loops.curves import all_tanh
from apportion.rlhf.negotiation.model.loops.gates import gru_step
from apportion.rlhf.negotiation.model.loops.vectors import add, dot, put
from apportion.rlhf.negotiation.model.loops.weights import PARTS_OF, Acting, Flags, Floats, Whole
from apportion.rlhf.negotiation.model.one_game.arrays import Game
from apportion.rlhf.negotiation.model.one_game.products import add_product
from apportion.rlhf.negotiation.model.player import ALMOST_ONE

ONE = np.float32(1)


@within
def begin(weights: Acting, seed: int, counts: Whole, values: Whole, game: Game) -> None:
    """Read a context [shapes=(3,)]; `network.read_context` and `context_brings`."""
    size = weights.item_count.shape[2]
    wide = weights.role.shape[2]
    known, context, beside = game.known[seed], game.context[seed], game.beside[seed]
    for item in range(3):
        many, worth = weights.item_count[seed, counts[item]], weights.item_value[seed, values[item]]
        for place in range(size):
            known[item * size + place] = many[place] * worth[place]
    all_tanh(known)
    put(weights.context_bias[seed], context)
    add_product(known, weights.context[seed], context)
    all_tanh(context)
    put(weights.entering_bias[seed], beside)
    add_product(context, weights.entering[seed, wide:], beside)
    for unit in range(game.states.shape[2]):
        game.states[seed, 0, unit] = 0


@compiled
def embedding(act: Floats, part: Floats, token: int, table: Floats, ready: Flags) -> Floats:
    """A row of the ``table`` of one seed, made of the vectors of acts and parts where it is first asked for."""
    row: Floats = table[token]
    if not ready[token]:
        ready[token] = True
        put(act[token], row)
        if token < len(PARTS_OF):
            for one in PARTS_OF[token]:
                add(part[one], ONE, row)
    return row


@compiled
def brings(given: Floats, matrix: Floats, place: int, gates: Floats, heard: Flags) -> Floats:
    """What an embedding brings to the gates, kept in a row of ``gates``; made where it is first asked for."""
    row: Floats = gates[place]
    if not heard[place]:
        heard[place] = True
        row[:] = 0
        add_product(given, matrix, row)
    return row


@within
def hear(weights: Acting, seed: int, turn: int, token: int, role: int, game: Game) -> None:
    """One more step of a seed's GRU."""
    game.tokens[seed, turn], game.roles[seed, turn] = token, role
    given, before, after = game.inputs[seed, turn], game.states[seed, turn], game.states[seed, turn + 1]
    put(embedding(weights.act[seed], weights.part[seed], token, game.table[seed], game.ready[seed]), given)
    add(weights.role[seed, role], ONE, given)
    own, brought = weights.state_bias[seed].copy(), game.beside[seed].copy()
    add_product(before, weights.state[seed], own)
    matrix = weights.entering[seed, : len(given)]
    add(brings(given, matrix, 2 * token + role, game.gates[seed], game.heard[seed]), ONE, brought)
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


@within
def score(weights: Acting, seed: int, turn: int, legal: Flags, game: Game) -> None:
    """The scores of the acts that are ``legal`` [shape=(253,)]."""
    out, scores, allowed = game.outs[seed, turn], game.scores[seed, turn], game.legal[seed, turn]
    act_vectors, part, bias = weights.act[seed], weights.part[seed], weights.act_bias[seed]
    table, ready = game.table[seed], game.ready[seed]
    put(weights.out_bias[seed], out)
    add_product(game.states[seed, turn + 1], weights.out[seed], out)
    for act in range(len(legal)):
        allowed[act] = legal[act]
        if legal[act]:
            scores[act] = bias[act] + dot(embedding(act_vectors, part, act, table, ready), out)


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


@within
def say(weights: Acting, seed: int, turn: int, legal: Flags, temperature: np.float32, draw: float, game: Game) -> int:
    """One of the ``legal`` acts, after what was heard; ``draw`` as of `chosen`."""
    score(weights, seed, turn, legal, game)
    return chosen(game.scores[seed, turn], legal, temperature, draw, np.empty(len(legal), dtype=np.float32))
