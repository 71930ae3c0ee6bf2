"""The gradient of Eq. 2 for one game of every seed, and a step along it.

It is the chain rule through `acting`, last act to first. A matrix's gradient is a few outer products (`products`),
whose length is had from the products of their sides; it is never written out.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion.rlhf.negotiation.data.dialogues import OWN
from apportion.rlhf.negotiation.model.loops.compiled import compiled, within
from apportion.rlhf.negotiation.model.loops.vectors import add, bend, dot, put
from apportion.rlhf.negotiation.model.loops.weights import PARTS_OF, Acting, Floats, Whole
from apportion.rlhf.negotiation.model.one_game.acting import ONE, chances_of
from apportion.rlhf.negotiation.model.one_game.arrays import Game
from apportion.rlhf.negotiation.model.one_game.products import add_turned, descend, squared_length


class Back(NamedTuple):
    """What comes back to the weights of one seed, and to T steps of its game on the way; all begin as zeros.

    Of matrices only one side is here, a row a step: ``brought`` and ``own`` (gates, by what was read and by the state),
    ``outs``, ``beside`` and ``context`` (one row each).
    """

    table: Floats
    act_bias: Floats
    out_bias: Floats
    state_bias: Floats
    part: Floats
    role: Floats
    item_count: Floats
    item_value: Floats
    outs: Floats
    states: Floats
    brought: Floats
    own: Floats
    beside: Floats
    context: Floats


@within
def _nothing_yet(weights: Acting, steps: int) -> Back:
    units, wide, known = weights.state.shape[1], weights.act.shape[2], weights.context.shape[2]
    return Back(
        np.zeros(weights.act.shape[1:], np.float32),
        np.zeros(weights.act_bias.shape[1], np.float32),
        np.zeros(wide, np.float32),
        np.zeros(3 * units, np.float32),
        np.zeros(weights.part.shape[1:], np.float32),
        np.zeros(weights.role.shape[1:], np.float32),
        np.zeros(weights.item_count.shape[1:], np.float32),
        np.zeros(weights.item_value.shape[1:], np.float32),
        np.zeros((steps, wide), np.float32),
        np.zeros((steps, units), np.float32),
        np.zeros((steps, 3 * units), np.float32),
        np.zeros((steps, 3 * units), np.float32),
        np.zeros((1, 3 * units), np.float32),
        np.zeros((1, known), np.float32),
    )


@within
def _from_scores(
    weights: Acting, seed: int, acts: Whole, paid: Floats, temperature: np.float32, game: Game, back: Back
) -> None:
    """What own acts bring back: to acts' embeddings and biases, and to the states that they were chosen in."""
    likely = np.empty(len(back.act_bias), dtype=np.float32)
    for turn in range(len(acts)):
        if game.roles[seed, turn] != OWN:
            continue
        legal, out, outs = game.legal[seed, turn], game.outs[seed, turn], back.outs[turn]
        chances_of(game.scores[seed, turn], legal, temperature, likely)
        for act in range(len(likely)):
            if legal[act]:
                missed = likely[act] - ONE if act == acts[turn] else likely[act]
                wrong = missed * paid[turn] / temperature
                back.act_bias[act] += wrong
                add(out, wrong, back.table[act])
                add(game.table[seed, act], wrong, outs)
        add_turned(weights.out[seed], outs, back.states[turn])
        add(outs, ONE, back.out_bias)


@within
def _through_steps(weights: Acting, seed: int, game: Game, back: Back) -> None:
    """From the states to what was read and to the states before, last to first."""
    units = weights.state.shape[1]
    for turn in range(len(back.states) - 1, -1, -1):
        before, whole, brought, own = game.states[seed, turn], back.states[turn], back.brought[turn], back.own[turn]
        for unit in range(units):
            reset, update = game.reset[seed, turn, unit], game.update[seed, turn, unit]
            fresh, held = game.fresh[seed, turn, unit], game.held[seed, turn, unit]
            new = whole[unit] * (ONE - update) * (ONE - fresh * fresh)
            brought[unit] = new * held * reset * (ONE - reset)
            brought[units + unit] = whole[unit] * (before[unit] - fresh) * update * (ONE - update)
            brought[2 * units + unit] = new
            own[2 * units + unit] = new * reset
        put(brought[: 2 * units], own[: 2 * units])
        add(brought, ONE, back.beside[0])
        add(own, ONE, back.state_bias)
        if turn:
            add_turned(weights.state[seed], own, back.states[turn - 1])
            for unit in range(units):
                back.states[turn - 1, unit] += whole[unit] * game.update[seed, turn, unit]


@within
def _to_embeddings(weights: Acting, seed: int, game: Game, back: Back) -> None:
    """What was read brings back to embeddings, and they to the parts that they are made of."""
    wide, steps = weights.role.shape[2], len(back.brought)
    given = np.dot(back.brought, weights.entering[seed, :wide].T)
    for turn in range(steps):
        add(given[turn], ONE, back.table[game.tokens[seed, turn]])
        add(given[turn], ONE, back.role[game.roles[seed, turn]])
    for token in range(len(PARTS_OF)):
        if game.ready[seed, token]:
            for part in PARTS_OF[token]:
                add(back.table[token], ONE, back.part[part])


@within
def _to_context(weights: Acting, seed: int, counts: Whole, values: Whole, game: Game, back: Back) -> None:
    """What all steps bring back to the context, and it to the vectors of counts and values."""
    wide, size = weights.role.shape[2], weights.item_count.shape[2]
    context, made = back.context[0], game.known[seed]
    add_turned(weights.entering[seed, wide:], back.beside[0], context)
    bend(game.context[seed], context)
    known = np.zeros(len(made), dtype=np.float32)
    add_turned(weights.context[seed], context, known)
    bend(made, known)
    for item in range(3):
        many, worth = weights.item_count[seed, counts[item]], weights.item_value[seed, values[item]]
        for place in range(size):
            back.item_count[counts[item], place] += known[item * size + place] * worth[place]
            back.item_value[values[item], place] += known[item * size + place] * many[place]


@within
def _squared_length(seed: int, steps: int, game: Game, back: Back) -> float:
    total = squared_length(game.inputs[seed, :steps], back.brought) + squared_length(
        game.states[seed, :steps], back.own
    )
    total += squared_length(game.states[seed, 1 : steps + 1], back.outs)
    total += squared_length(game.context[seed : seed + 1], back.beside)
    total += squared_length(game.known[seed : seed + 1], back.context)
    for rows in (back.table, back.part, back.role, back.item_count, back.item_value, back.beside, back.context):
        for row in rows:
            total += float(dot(row, row))
    for sums in (back.state_bias, back.out_bias, back.act_bias):
        total += float(dot(sums, sums))
    return total


@within
def _descend(weights: Acting, seed: int, steps: int, game: Game, back: Back, rate: np.float32) -> None:
    wide = weights.role.shape[2]
    descend(weights.entering[seed, :wide], game.inputs[seed, :steps], back.brought, rate)
    descend(weights.entering[seed, wide:], game.context[seed : seed + 1], back.beside, rate)
    descend(weights.state[seed], game.states[seed, :steps], back.own, rate)
    descend(weights.out[seed], game.states[seed, 1 : steps + 1], back.outs, rate)
    descend(weights.context[seed], game.known[seed : seed + 1], back.context, rate)
    for token in range(len(back.table)):
        if game.ready[seed, token]:
            add(back.table[token], -rate, weights.act[seed, token])
    for all_rows, gradients in (
        (weights.part, back.part),
        (weights.role, back.role),
        (weights.item_count, back.item_count),
        (weights.item_value, back.item_value),
    ):
        for row in range(len(gradients)):
            add(gradients[row], -rate, all_rows[seed, row])
    add(back.act_bias, -rate, weights.act_bias[seed])
    add(back.beside[0], -rate, weights.entering_bias[seed])
    add(back.context[0], -rate, weights.context_bias[seed])
    add(back.state_bias, -rate, weights.state_bias[seed])
    add(back.out_bias, -rate, weights.out_bias[seed])


@compiled
def learn(
    weights: Acting,
    acts: Whole,
    lengths: Whole,
    paid: Floats,
    counts: Whole,
    values: Whole,
    temperature: np.float32,
    rate: float,
    clip: float,
    game: Game,
) -> NDArray[np.float64]:
    """One step down minus the sum of what acts are ``paid`` times their log probability, a game a seed.

    Parameters
    ----------
    weights : Acting
        Changed in place.
    acts : int64 [shape=(S, 20)]
        What was said.
    lengths : int64 [shape=(S,)]
        How many acts that is.
    paid : float32 [shape=(S, 20)]
        By act; 0 for the other's.
    counts, values : int64 [shape=(S, 3)]
        The contexts.
    temperature : float32
        Of the policy.
    rate, clip : float
        The step, and the longest gradient of a seed.
    game : Game
        What `playing.play_games` kept.

    Returns
    -------
    float64 [shape=(S,)]
        The length of every seed's gradient; where one is not finite, its weights and those after it are not changed.
    """
    found = np.zeros(len(lengths))
    for seed in range(len(lengths)):
        steps = lengths[seed]
        back = _nothing_yet(weights, steps)
        _from_scores(weights, seed, acts[seed, :steps], paid[seed], temperature, game, back)
        _through_steps(weights, seed, game, back)
        _to_embeddings(weights, seed, game, back)
        _to_context(weights, seed, counts[seed], values[seed], game, back)
        found[seed] = np.sqrt(_squared_length(seed, steps, game, back))
        if not np.isfinite(found[seed]):
            return found
        _descend(weights, seed, steps, game, back, np.float32(rate * min(1.0, clip / max(found[seed], 1e-12))))
    return found
