"""The negotiator of Lewis et al. (2017) over acts, S seeds of it as one batched model: every tensor begins with S.

A GRU reads the acts, the context beside each; its state gives the next act. A bidirectional GRU with attention reads
the whole dialogue and gives what is taken, six numbers: of each item, how many are one's own and how many the other's.
An act's embedding is its own vector, plus one of its kind, plus one a number kept of each item, so that a rare split is
not a stranger; the same table reads acts and, turned round, scores them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from apportion.environments.negotiation.action_encoding import ACTS, INSIST, SPLITS
from apportion.environments.negotiation.vectorized.engine import KEPT
from apportion.rlhf.negotiation.data.dialogues import TOKENS, Dialogues
from apportion.rlhf.negotiation.model.products import gated, scored
from apportion.rlhf.negotiation.model.recurrent import gru_states, gru_states_of_some
from apportion.rlhf.negotiation.settings import NetworkSettings

Weights = dict[str, Tensor]
"""By name, S seeds of a weight [shape=(S, ...)], float32."""
MOST_COUNT, MOST_VALUE = 4, 10
PARTS = 2 + 3 * (MOST_COUNT + 1)
HEADS, CLASSES = 6, MOST_COUNT + 1
NEVER = -1e9
WAYS = ("ahead", "back")
"""The two GRUs of the selection: from the beginning, and from the end."""


def shapes(settings: NetworkSettings) -> dict[str, tuple[int, ...]]:
    """The shape of every weight of one seed."""
    e, c, h = settings.embedding, settings.context, settings.hidden
    a, s = settings.attention, settings.selection
    table: dict[str, tuple[int, ...]] = {
        "act": (TOKENS, e),
        "part": (PARTS, e),
        "role": (2, e),
        "count": (MOST_COUNT + 1, c),
        "value": (MOST_VALUE + 1, c),
        "context.weight": (3 * c, c),
        "context.bias": (c,),
        "out.weight": (h, e),
        "out.bias": (e,),
        "act.bias": (ACTS,),
        "attend.weight": (2 * a, a),
        "attend.bias": (a,),
        "attend.score": (a, 1),
        "select.weight": (2 * a + c, s),
        "select.bias": (s,),
        "heads.weight": (s, HEADS * CLASSES),
        "heads.bias": (HEADS * CLASSES,),
    }
    for name, (width, units) in {"gru": (e + c, h), "ahead": (h + e, a), "back": (h + e, a)}.items():
        table |= {
            f"{name}.in": (width, 3 * units),
            f"{name}.in_bias": (3 * units,),
            f"{name}.state": (units, 3 * units),
            f"{name}.state_bias": (3 * units,),
        }
    return table


ACTING = ("act", "part", "role", "count", "value", "context", "out", "gru")
"""What decides acts, by the beginning of its name; the rest decides what is taken."""


def acting(name: str) -> bool:
    """Whether a weight has a part in choosing acts."""
    return name.split(".")[0] in ACTING


WIDE = ("count", "value")
"""Begin between -1 and 1: the context is a product of two of them, which would hardly be heard otherwise."""


def drawn_weights(settings: NetworkSettings, seeds: tuple[int, ...]) -> Weights:
    """New weights, each seed's by itself, so that a seed begins the same in any company."""
    table = shapes(settings)
    groups = []
    for seed in seeds:
        draws = torch.Generator().manual_seed(seed)
        drawn = {name: torch.rand(shape, generator=draws) * 2 - 1 for name, shape in table.items()}
        groups.append({name: one if name in WIDE else one * settings.spread for name, one in drawn.items()})
    return {name: torch.stack([group[name] for group in groups]) for name in table}


@lru_cache(maxsize=1)
def _made_of() -> Tensor:
    """Which parts every token is made of, kinds and numbers kept [shape=(TOKENS, PARTS)]."""
    made = np.zeros((TOKENS, PARTS), dtype=np.float32)
    for kind, begin in enumerate((0, INSIST)):
        made[begin : begin + SPLITS, kind] = 1
        for item in range(3):
            made[np.arange(begin, begin + SPLITS), 2 + 5 * item + KEPT[:, item]] = 1
    return torch.from_numpy(made)


def embeddings(weights: Weights) -> Tensor:
    """The embedding of every token [shape=(S, TOKENS, E)]."""
    parts = weights["part"]
    made = _made_of().to(parts.dtype)
    return torch.baddbmm(weights["act"], made.expand(len(parts), -1, -1), parts)


def _linear(weights: Weights, name: str, given: Tensor) -> Tensor:
    return torch.baddbmm(weights[f"{name}.bias"][:, None], given, weights[f"{name}.weight"])


@lru_cache(maxsize=64)
def _first_rows(seeds: int, rows: int, dimensions: int) -> Tensor:
    """Where each seed's rows begin in a table that has them one seed after the other [shape=(S, 1, ...)]."""
    return (torch.arange(seeds) * rows).view(-1, *[1] * (dimensions - 1))


def looked_up(table: Tensor, index: Tensor) -> Tensor:
    """Rows of each seed's table [shape=(S, N, E)] by number [shape=(S, ...)]."""
    seeds, rows, width = table.shape
    return torch.embedding(table.reshape(-1, width), index + _first_rows(seeds, rows, index.dim()))


def read_context(weights: Weights, counts: Tensor, values: Tensor) -> Tensor:
    """What is known before the first act [shape=(S, B, C)], of counts and own values [shape=(S, B, 3)]."""
    known = torch.tanh(looked_up(weights["count"], counts) * looked_up(weights["value"], values))
    return torch.tanh(_linear(weights, "context", known.flatten(2)))


def context_brings(weights: Weights, context: Tensor) -> tuple[Tensor, Tensor]:
    """What contexts bring to the gates of every step, biases with it [shape=(S, B, 3H)], and the rest of the matrix.

    The rest [shape=(S, E, 3H)] is what an embedding is read by.
    """
    embedded, known = torch.split(weights["gru.in"], [weights["role"].shape[-1], context.shape[-1]], dim=1)
    return torch.baddbmm(weights["gru.in_bias"][:, None], context, known), embedded


@dataclass(frozen=True)
class Reading:
    """What the network makes of S times B dialogues of T acts.

    Parameters
    ----------
    embedded : float32 [shape=(S, B, T + 1, E)]
        What was read: the beginning, then the acts.
    states : float32 [shape=(S, B, T + 1, H)]
        After each of them.
    context : float32 [shape=(S, B, C)]
        What was known before.
    table : float32 [shape=(S, TOKENS, E)]
        The embeddings.
    """

    embedded: Tensor
    states: Tensor
    context: Tensor
    table: Tensor


def read(weights: Weights, dialogues: Dialogues) -> Reading:
    """Read dialogues whose arrays begin with the seeds [shape=(S, B, ...)]."""
    inputs, roles = torch.from_numpy(dialogues.inputs), torch.from_numpy(dialogues.next_roles)
    context = read_context(weights, torch.from_numpy(dialogues.counts), torch.from_numpy(dialogues.values))
    table = embeddings(weights)
    embedded = looked_up(table, inputs) + looked_up(weights["role"], roles)
    brought = gated(embedded, context, weights["gru.in"], weights["gru.in_bias"])
    return Reading(embedded, gru_states(brought, weights["gru.state"], weights["gru.state_bias"]), context, table)


def within(lengths: Tensor, steps: int) -> Tensor:
    """Which steps dialogues of so many acts [shape=(S, B)] have, the one after the last among them."""
    return torch.arange(steps) <= lengths[..., None]


def act_scores(weights: Weights, table: Tensor, states: Tensor) -> Tensor:
    """A score for each of the 253 acts, from states [shape=(S, N, H)] to [shape=(S, N, 253)]."""
    return scored(_linear(weights, "out", states), table, weights["act.bias"])


def ways_matrix(weights: Weights) -> tuple[Tensor, Tensor, Tensor]:
    """What brings states [shape=(S, H, 6A)] and embeddings [shape=(S, E, 6A)] to both ways' gates, and the biases."""
    whole = torch.cat([weights[f"{name}.in"] for name in WAYS], dim=-1)
    bias = torch.cat([weights[f"{name}.in_bias"] for name in WAYS], dim=-1)
    heard, embedded = torch.split(whole, [weights["out.weight"].shape[1], weights["role"].shape[-1]], dim=1)
    return heard, embedded, bias[:, None]


def taken_scores(weights: Weights, reading: Reading, lengths: Tensor) -> Tensor:
    """Log probabilities of what is taken at the end [shape=(S, B, 6, 5)], own numbers first; lengths in acts."""
    heard, matrix, bias = ways_matrix(weights)
    brought = torch.baddbmm(bias, reading.states.flatten(1, 2), heard)
    brought = torch.baddbmm(brought, reading.embedded.flatten(1, 2), matrix)
    return selection_scores(weights, brought.view(*reading.states.shape[:3], -1), reading.context, lengths)


def selection_scores(weights: Weights, brought: Tensor, context: Tensor, lengths: Tensor) -> Tensor:
    """As `taken_scores`, of what each step brings to the gates of both ways [shape=(S, B, T + 1, 6A)]."""
    mask = within(lengths, brought.shape[2])
    both = torch.cat(
        [
            gru_states_of_some(
                part, weights[f"{name}.state"], weights[f"{name}.state_bias"], mask, backwards=name == "back"
            )
            for name, part in zip(WAYS, brought.chunk(2, dim=-1), strict=True)
        ],
        dim=-1,
    )
    seeds, batch, steps = mask.shape
    scores = torch.bmm(torch.tanh(_linear(weights, "attend", both.flatten(1, 2))), weights["attend.score"])
    shares = torch.softmax(scores.view(seeds, batch, steps).masked_fill(~mask, NEVER), dim=-1)
    seen = (shares[..., None] * both).sum(2)
    layer = torch.tanh(_linear(weights, "select", torch.cat([seen, context], dim=-1)))
    return torch.log_softmax(_linear(weights, "heads", layer).view(seeds, batch, HEADS, CLASSES), dim=-1)


def split_scores(taken: Tensor, counts: Tensor) -> Tensor:
    """Log probability of each split that is one of the pool, own and others' heads together [shape=(S, B, 125)].

    The heads are asked for numbers that add up to the pool; a split that is none has `NEVER`.
    """
    kept = torch.from_numpy(KEPT)
    left = counts[..., None, :] - kept
    fits = (left >= 0).all(-1)
    total = taken.new_zeros(*counts.shape[:-1], SPLITS)
    for item in range(3):
        total = total + taken[..., item, :][..., kept[:, item]]
        total = total + torch.gather(taken[..., 3 + item, :], -1, left[..., item].clamp(min=0))
    return total.masked_fill(~fits, NEVER)
