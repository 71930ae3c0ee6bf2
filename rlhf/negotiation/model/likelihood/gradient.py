"""Eq. 1 of one seed's batch and its gradient: reading, what is said, what is taken, and back to every weight."""

from __future__ import annotations

import numpy as np

from apportion.rlhf.negotiation.model.likelihood.acts import said
from apportion.rlhf.negotiation.model.likelihood.arrays import Batch, Network, Rows, rows_of
from apportion.rlhf.negotiation.model.likelihood.matrices import (
    ONE,
    add_at,
    add_from,
    bend,
    curve,
    linear,
    linear_back,
    nothing,
    plus,
    scale,
)
from apportion.rlhf.negotiation.model.likelihood.steps import gru, gru_back
from apportion.rlhf.negotiation.model.likelihood.taken import at_the_end
from apportion.rlhf.negotiation.model.loops.compiled import compiled, within
from apportion.rlhf.negotiation.model.loops.vectors import add, put
from apportion.rlhf.negotiation.model.loops.weights import PARTS_OF, Acting, Floats, Whole


@within
def _table(weights: Acting, seed: int) -> Floats:
    """The embedding of every token [shape=(TOKENS, E)]; `network.embeddings`."""
    table: Floats = weights.act[seed].copy()
    for token in range(len(PARTS_OF)):
        for part in PARTS_OF[token]:
            plus(weights.part[seed, part], table[token])
    return table


@within
def _known(weights: Acting, seed: int, counts: Whole, values: Whole) -> Floats:
    """What contexts are made of [shape=(B, 3C)]; the first half of `network.read_context`."""
    size = weights.item_count.shape[2]
    known = np.empty((len(counts), 3 * size), dtype=np.float32)
    for dialogue in range(len(counts)):
        for item in range(3):
            many = weights.item_count[seed, counts[dialogue, item]]
            worth = weights.item_value[seed, values[dialogue, item]]
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
    weights: Acting,
    seed: int,
    counts: Whole,
    values: Whole,
    known: Floats,
    context: Floats,
    by_context: Floats,
    grads: Acting,
) -> None:
    """From contexts back to the vectors of counts and values."""
    size = weights.item_count.shape[2]
    bend(context, by_context)
    by_known = linear_back(by_context, weights.context[seed], known, grads.context, grads.context_bias)
    bend(known, by_known)
    for dialogue in range(len(counts)):
        for item in range(3):
            count, value = counts[dialogue, item], values[dialogue, item]
            many, worth = weights.item_count[seed, count], weights.item_value[seed, value]
            by_many, by_worth = grads.item_count[count], grads.item_value[value]
            for place in range(size):
                own = by_known[dialogue, item * size + place]
                by_many[place] += own * worth[place]
                by_worth[place] += own * many[place]


@within
def _to_table(by_embedded: Floats, inputs: Whole, roles: Whole, rows: Rows, grads: Acting) -> None:
    """From what was read back to tokens, their parts and sides; ``grads.act`` has what acts' scores brought already."""
    for row in range(len(by_embedded)):
        dialogue, step = rows.dialogue[row], rows.step[row]
        plus(by_embedded[row], grads.act[inputs[dialogue, step]])
        plus(by_embedded[row], grads.role[roles[dialogue, step]])
    for token in range(len(PARTS_OF)):
        for part in PARTS_OF[token]:
            plus(grads.act[token], grads.part[part])


@within
def _begun(grads: Network) -> None:
    """Nothing where gradients are added up; the others are written."""
    acting, taking = grads.acting, grads.taking
    for rows in (
        acting.act,
        acting.part,
        acting.role,
        acting.item_count,
        acting.item_value,
        taking.attend_score,
    ):
        nothing(rows)
    for sums in (
        acting.context_bias,
        acting.out_bias,
        acting.act_bias,
        taking.attend_bias,
        taking.select_bias,
        taking.heads_bias,
        acting.entering_bias,
        acting.state_bias,
        taking.ahead_bias,
        taking.ahead_state_bias,
        taking.back_bias,
        taking.back_state_bias,
    ):
        sums[:] = 0


@within
def _embedded(table: Floats, roles: Floats, inputs: Whole, sides: Whole, rows: Rows, kept: Floats) -> Floats:
    """What is read in every row [shape=(R, E)], ``kept`` being what dropout multiplies it by."""
    found = np.empty_like(kept)
    for row in range(len(found)):
        dialogue, step, own = rows.dialogue[row], rows.step[row], found[row]
        put(table[inputs[dialogue, step]], own)
        plus(roles[sides[dialogue, step]], own)
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
    acting, by_acting = network.acting, grads.acting
    rows, counts, values = rows_of(batch.lengths[seed]), batch.counts[seed], batch.values[seed]
    inputs, roles, targets = batch.inputs[seed], batch.roles[seed], batch.targets[seed]
    wide, units, matrix = acting.role.shape[2], acting.state.shape[1], acting.entering[seed]
    share = ONE / np.float32(max(1, (targets >= 0).sum()))
    _begun(grads)
    table, known = _table(acting, seed), _known(acting, seed, counts, values)
    context = linear(known, acting.context[seed], acting.context_bias[seed])
    curve(context)
    drawn = min(seed, len(batch.embedded_draws) - 1)
    kept_inputs = _left_out(batch.embedded_draws[drawn], rows, wide, dropout)
    kept_states = _left_out(batch.state_draws[drawn], rows, units, dropout)
    embedded = _embedded(table, acting.role[seed], inputs, roles, rows, kept_inputs)
    brought = np.dot(embedded, matrix[:wide])
    add_from(linear(context, matrix[wide:], acting.entering_bias[seed]), rows.dialogue, brought)
    kept = gru(brought, acting.state[seed], acting.state_bias[seed], rows, False)
    states = kept.states.copy()
    scale(kept_states, states)
    by_states, by_context, by_embedded = np.zeros_like(states), np.zeros_like(context), np.zeros_like(embedded)
    loss = said(acting, seed, states, table, targets, counts, rows, share, by_acting, by_states, by_acting.act)
    if alpha > 0:
        heard = np.empty((len(rows.step), units + wide), dtype=np.float32)
        for row in range(len(heard)):
            put(states[row], heard[row, :units])
            put(embedded[row], heard[row, units:])
        found, by_heard = at_the_end(
            network.taking,
            seed,
            heard,
            context,
            batch.taken[seed],
            rows,
            _layer_left_out(batch.layer_draws[drawn], (len(counts), network.taking.select.shape[2]), dropout),
            np.float32(alpha) * share,
            grads.taking,
            by_context,
        )
        loss += found
        for row in range(len(heard)):
            add(by_heard[row, :units], ONE, by_states[row])
            add(by_heard[row, units:], ONE, by_embedded[row])
    scale(kept_states, by_states)
    by_brought = gru_back(by_states, kept, acting.state[seed], rows, False, by_acting.state, by_acting.state_bias)
    by_beside = np.zeros((len(counts), 3 * units), dtype=np.float32)
    add_at(by_brought, rows.dialogue, by_beside)
    by_known = linear_back(by_beside, matrix[wide:], context, by_acting.entering[wide:], by_acting.entering_bias)
    np.dot(embedded.T, by_brought, by_acting.entering[:wide])
    by_read = np.dot(by_brought, matrix[:wide].T)
    for row in range(len(by_read)):
        plus(by_read[row], by_embedded[row])
    for dialogue in range(len(counts)):
        plus(by_known[dialogue], by_context[dialogue])
    scale(kept_inputs, by_embedded)
    _to_table(by_embedded, inputs, roles, rows, by_acting)
    _to_context(acting, seed, counts, values, known, context, by_context, by_acting)
    return loss
