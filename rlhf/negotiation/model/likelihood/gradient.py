"""Eq. 1 of one seed's batch and its gradient: reading, what is said, what is taken, and back to every weight."""

from __future__ import annotations

import numpy as np

from rlhf.negotiation.model.likelihood.acts import said
from rlhf.negotiation.model.likelihood.arrays import Batch, Floats, Network, Rows, Whole, rows_of
from rlhf.negotiation.model.likelihood.matrices import (
    ONE,
    add,
    add_at,
    add_from,
    add_share,
    bend,
    curve,
    linear,
    linear_back,
    nothing,
    put,
    scale,
)
from rlhf.negotiation.model.likelihood.steps import gru, gru_back
from rlhf.negotiation.model.likelihood.taken import at_the_end
from rlhf.negotiation.model.loops.compiled import compiled, within
from rlhf.negotiation.model.one_game.arrays import PARTS_OF


@within
def _table(network: Network, seed: int) -> Floats:
    """The embedding of every token [shape=(TOKENS, E)]; `network.embeddings`."""
    table: Floats = network.act[seed].copy()
    for token in range(len(PARTS_OF)):
        for part in PARTS_OF[token]:
            add(network.part[seed, part], table[token])
    return table


@within
def _known(network: Network, seed: int, counts: Whole, values: Whole) -> Floats:
    """What contexts are made of [shape=(B, 3C)]; the first half of `network.read_context`."""
    size = network.item_count.shape[2]
    known = np.empty((len(counts), 3 * size), dtype=np.float32)
    for dialogue in range(len(counts)):
        for item in range(3):
            many = network.item_count[seed, counts[dialogue, item]]
            worth = network.item_value[seed, values[dialogue, item]]
            for place in range(size):
                known[dialogue, item * size + place] = many[place] * worth[place]
    curve(known)
    return known


@within
def _left_out(draws: Floats, rows: Rows, width: int, dropout: np.float32) -> Floats:
    """What dropout multiplies rows by [shape=(R, N)], of draws [shape=(B, T + 1, N)]; 1 without it."""
    left = np.ones((len(rows.step), width), dtype=np.float32)
    if dropout > 0:
        raised = ONE / (ONE - dropout)
        for row in range(len(left)):
            drawn, own = draws[rows.dialogue[row], rows.step[row]], left[row]
            for place in range(width):
                own[place] = raised if drawn[place] >= dropout else np.float32(0)
    return left


@within
def _to_context(
    network: Network,
    seed: int,
    counts: Whole,
    values: Whole,
    known: Floats,
    context: Floats,
    by_context: Floats,
    grads: Network,
) -> None:
    """From contexts back to the vectors of counts and values."""
    size = network.item_count.shape[2]
    bend(context, by_context)
    by_known = linear_back(by_context, network.context[seed], known, grads.context, grads.context_bias)
    bend(known, by_known)
    for dialogue in range(len(counts)):
        for item in range(3):
            count, value = counts[dialogue, item], values[dialogue, item]
            many, worth = network.item_count[seed, count], network.item_value[seed, value]
            by_many, by_worth = grads.item_count[count], grads.item_value[value]
            for place in range(size):
                own = by_known[dialogue, item * size + place]
                by_many[place] += own * worth[place]
                by_worth[place] += own * many[place]


@within
def _to_table(by_embedded: Floats, inputs: Whole, roles: Whole, rows: Rows, grads: Network) -> None:
    """From what was read back to tokens, their parts and sides; ``grads.act`` has what acts' scores brought already."""
    for row in range(len(by_embedded)):
        dialogue, step = rows.dialogue[row], rows.step[row]
        add(by_embedded[row], grads.act[inputs[dialogue, step]])
        add(by_embedded[row], grads.role[roles[dialogue, step]])
    for token in range(len(PARTS_OF)):
        for part in PARTS_OF[token]:
            add(grads.act[token], grads.part[part])


@within
def _begun(grads: Network) -> None:
    """Nothing where gradients are added up; the others are written."""
    for rows in (grads.act, grads.part, grads.role, grads.item_count, grads.item_value, grads.attend_score):
        nothing(rows)
    for sums in (
        *(grads.context_bias, grads.out_bias, grads.act_bias, grads.attend_bias, grads.select_bias, grads.heads_bias),
        *(grads.entering_bias, grads.state_bias, grads.ahead_bias, grads.ahead_state_bias),
        *(grads.back_bias, grads.back_state_bias),
    ):
        sums[:] = 0


@within
def _embedded(table: Floats, roles: Floats, inputs: Whole, sides: Whole, rows: Rows, kept: Floats) -> Floats:
    """What is read in every row [shape=(R, E)], ``kept`` being what dropout multiplies it by."""
    found = np.empty_like(kept)
    for row in range(len(found)):
        dialogue, step, own = rows.dialogue[row], rows.step[row], found[row]
        put(table[inputs[dialogue, step]], own)
        add(roles[sides[dialogue, step]], own)
    scale(kept, found)
    return found


@compiled
def _layer_left_out(draws: Floats, shape: tuple[int, int], dropout: np.float32) -> Floats:
    """As `_left_out`, of a row a dialogue."""
    left = np.ones(shape, dtype=np.float32)
    if dropout > 0:
        for row in range(shape[0]):
            for place in range(shape[1]):
                left[row, place] = ONE / (ONE - dropout) if draws[row, place] >= dropout else np.float32(0)
    return left


@compiled
def loss_and_gradient(
    network: Network, seed: int, batch: Batch, alpha: float, dropout: np.float32, grads: Network
) -> float:
    """Eq. 1 over one seed's dialogues, divided by their number of acts; its gradient is written into ``grads``.

    Acts of both sides count, as in the model of Lewis et al. What no player could do (`Dialogues.targets`) does not,
    nor does the end of dialogues in which nothing was agreed on.
    """
    rows, counts, values = rows_of(batch.lengths[seed]), batch.counts[seed], batch.values[seed]
    inputs, roles, targets = batch.inputs[seed], batch.roles[seed], batch.targets[seed]
    wide, units, matrix = network.role.shape[2], network.state.shape[1], network.entering[seed]
    share = ONE / np.float32(max(1, (targets >= 0).sum()))
    _begun(grads)
    table, known = _table(network, seed), _known(network, seed, counts, values)
    context = linear(known, network.context[seed], network.context_bias[seed])
    curve(context)
    drawn = min(seed, len(batch.embedded_draws) - 1)
    kept_inputs = _left_out(batch.embedded_draws[drawn], rows, wide, dropout)
    kept_states = _left_out(batch.state_draws[drawn], rows, units, dropout)
    embedded = _embedded(table, network.role[seed], inputs, roles, rows, kept_inputs)
    brought = np.dot(embedded, matrix[:wide])
    add_from(linear(context, matrix[wide:], network.entering_bias[seed]), rows.dialogue, brought)
    kept = gru(brought, network.state[seed], network.state_bias[seed], rows, False)
    states = kept.states.copy()
    scale(kept_states, states)
    by_states, by_context, by_embedded = np.zeros_like(states), np.zeros_like(context), np.zeros_like(embedded)
    loss = said(network, seed, states, table, targets, counts, rows, share, grads, by_states, grads.act)
    if alpha > 0:
        heard = np.empty((len(rows.step), units + wide), dtype=np.float32)
        for row in range(len(heard)):
            put(states[row], heard[row, :units])
            put(embedded[row], heard[row, units:])
        found, by_heard = at_the_end(
            network,
            seed,
            heard,
            context,
            batch.taken[seed],
            rows,
            _layer_left_out(batch.layer_draws[drawn], (len(counts), network.select.shape[2]), dropout),
            np.float32(alpha) * share,
            grads,
            by_context,
        )
        loss += found
        for row in range(len(heard)):
            add_share(by_heard[row, :units], ONE, by_states[row])
            add_share(by_heard[row, units:], ONE, by_embedded[row])
    scale(kept_states, by_states)
    by_brought = gru_back(by_states, kept, network.state[seed], rows, False, grads.state, grads.state_bias)
    by_beside = np.zeros((len(counts), 3 * units), dtype=np.float32)
    add_at(by_brought, rows.dialogue, by_beside)
    by_known = linear_back(by_beside, matrix[wide:], context, grads.entering[wide:], grads.entering_bias)
    np.dot(embedded.T, by_brought, grads.entering[:wide])
    by_read = np.dot(by_brought, matrix[:wide].T)
    for row in range(len(by_read)):
        add(by_read[row], by_embedded[row])
    for dialogue in range(len(counts)):
        add(by_known[dialogue], by_context[dialogue])
    scale(kept_inputs, by_embedded)
    _to_table(by_embedded, inputs, roles, rows, grads)
    _to_context(network, seed, counts, values, known, context, by_context, grads)
    return loss
