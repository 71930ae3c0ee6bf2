"""The negotiator of Lewis et al. (2017) over acts, S seeds of it as one batched model: every tensor begins with S.

A GRU reads the acts, the context beside each; its state gives the next act. A bidirectional GRU with attention reads
the whole dialogue and gives what is taken, six numbers: of each item, how many are one's own and how many the other's.
An act's embedding is its own vector, plus one of its kind, plus one a number kept of each item, so that a rare split is
not a stranger; the same table reads acts and, turned round, scores them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from apportion.environments.negotiation.action_encoding import ACTS, INSIST, SPLITS
from apportion.environments.negotiation.vectorized import KEPT
from apportion.rlhf.negotiation.data.dialogues import TOKENS, Dialogues
from apportion.rlhf.negotiation.settings import NetworkSettings

Weights = dict[str, Tensor]
"""By name, S seeds of a weight [shape=(S, ...)], float32."""
MOST_COUNT, MOST_VALUE = 4, 10
PARTS = 2 + 3 * (MOST_COUNT + 1)
HEADS, CLASSES = 6, MOST_COUNT + 1
NEVER = -1e9
DIRECTIONS = ("forward", "backward")
"""The two GRUs of the selection: from the beginning, and from the end."""


def unchanged(tensor: Tensor) -> Tensor:
    """In place of dropout where there is none."""
    return tensor


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
    for name, (width, units) in {"gru": (e + c, h), "forward": (h + e, a), "backward": (h + e, a)}.items():
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
def _token_parts() -> Tensor:
    """The kind and the numbers kept of every token, as 0 and 1 [shape=(TOKENS, PARTS)]."""
    parts = np.zeros((TOKENS, PARTS), dtype=np.float32)
    for kind, begin in enumerate((0, INSIST)):
        parts[begin : begin + SPLITS, kind] = 1
        for item in range(3):
            parts[np.arange(begin, begin + SPLITS), 2 + 5 * item + KEPT[:, item]] = 1
    return torch.from_numpy(parts)


def embeddings(weights: Weights) -> Tensor:
    """The embedding of every token [shape=(S, TOKENS, E)]."""
    vectors = weights["part"]
    return torch.baddbmm(weights["act"], _token_parts().to(vectors.dtype).expand(len(vectors), -1, -1), vectors)


def lookup(table: Tensor, index: Tensor) -> Tensor:
    """Rows of each seed's table [shape=(S, N, E)] by number [shape=(S, ...)]."""
    seeds, rows, width = table.shape
    first = (torch.arange(seeds) * rows).view(-1, *[1] * (index.dim() - 1))
    return torch.embedding(table.reshape(-1, width), index + first)


def _linear(weights: Weights, name: str, inputs: Tensor, layer: str = "weight", bias: str = "bias") -> Tensor:
    flat = torch.baddbmm(weights[f"{name}.{bias}"][:, None], inputs.flatten(1, -2), weights[f"{name}.{layer}"])
    return flat.view(*inputs.shape[:-1], -1)


def encode_context(weights: Weights, counts: Tensor, values: Tensor) -> Tensor:
    """The features of counts and own values [shape=(S, B, 3)], as a vector [shape=(S, B, C)]."""
    features = torch.tanh(lookup(weights["count"], counts) * lookup(weights["value"], values))
    return torch.tanh(_linear(weights, "context", features.flatten(2)))


def context_gates(weights: Weights, context: Tensor) -> Tensor:
    """What contexts [shape=(S, B, C)] bring to the gates of every step, biases with it [shape=(S, B, 3H)]."""
    matrix = weights["gru.in"][:, weights["role"].shape[-1] :]
    return torch.baddbmm(weights["gru.in_bias"][:, None], context, matrix)


def gate_inputs(weights: Weights, embedded: Tensor, constant: Tensor) -> Tensor:
    """The inputs of the gates [shape=(S, B, T, 3H)], of embeddings [shape=(S, B, T, E)] and `context_gates`."""
    matrix = weights["gru.in"][:, : embedded.shape[-1]]
    return torch.bmm(embedded.flatten(1, 2), matrix).view(*embedded.shape[:3], -1) + constant[:, :, None]


def gru_step(weights: Weights, name: str, inputs: Tensor, state: Tensor) -> Tensor:
    """The state after one more step.

    ``weights``, ``name``: Of which GRU. ``inputs`` [S, B, 3H]: What the input brings to the reset gate, the update gate
    and the candidate. ``state`` [S, B, H]: Before it.
    """
    units = state.shape[-1]
    recurrent = torch.baddbmm(weights[f"{name}.state_bias"][:, None], state, weights[f"{name}.state"])
    reset, update = torch.sigmoid(inputs[..., : 2 * units] + recurrent[..., : 2 * units]).chunk(2, dim=-1)
    candidate = torch.tanh(torch.addcmul(inputs[..., 2 * units :], reset, recurrent[..., 2 * units :]))
    return torch.lerp(candidate, state, update)


def gru_states(weights: Weights, name: str, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
    """States after every step [shape=(S, B, T, H)], of inputs to the gates [shape=(S, B, T, 3H)].

    Where ``mask`` [shape=(S, B, T)] is false, the state stays as it was. The GRU ``backward`` reads from the end.
    """
    state = inputs.new_zeros(*inputs.shape[:2], inputs.shape[-1] // 3)
    steps = inputs.unbind(2)
    states = [state] * len(steps)
    for step in reversed(range(len(steps))) if name == "backward" else range(len(steps)):
        new = gru_step(weights, name, steps[step], state)
        states[step] = state = new if mask is None else torch.where(mask[:, :, step, None], new, state)
    return torch.stack(states, dim=2)


@dataclass(frozen=True)
class Encoding:
    """What the network makes of S times B dialogues of T acts.

    ``embedded`` float32 [S, B, T + 1, E]: What was read: the beginning, then the acts. ``states`` float32 [S, B, T + 1,
    H]: After each of them. ``context`` float32 [S, B, C]: What was known before. ``table`` float32 [S, TOKENS, E]: The
    embeddings.
    """

    embedded: Tensor
    states: Tensor
    context: Tensor
    table: Tensor


def encode(weights: Weights, dialogues: Dialogues, dropout: Callable[[Tensor], Tensor] = unchanged) -> Encoding:
    """Read dialogues whose arrays begin with the seeds [shape=(S, B, ...)]."""
    inputs, roles = torch.from_numpy(dialogues.inputs), torch.from_numpy(dialogues.next_roles)
    context = encode_context(weights, torch.from_numpy(dialogues.counts), torch.from_numpy(dialogues.values))
    table = embeddings(weights)
    embedded = dropout(lookup(table, inputs) + lookup(weights["role"], roles))
    states = dropout(gru_states(weights, "gru", gate_inputs(weights, embedded, context_gates(weights, context))))
    return Encoding(embedded, states, context, table)


def act_logits(weights: Weights, table: Tensor, states: Tensor) -> Tensor:
    """Scores of the 253 acts [shape=(S, B, T, 253)] after states [shape=(S, B, T, H)]."""
    projected = _linear(weights, "out", states)
    acts = table[:, :ACTS].transpose(1, 2)
    scores = torch.baddbmm(weights["act.bias"][:, None], projected.flatten(1, 2), acts)
    return scores.view(*states.shape[:3], -1)


def masked_logprobs(logits: Tensor, allowed: Tensor, temperature: float = 1.0) -> Tensor:
    """Log probabilities of the allowed acts [shape=(..., 253)]; of others, `NEVER`."""
    return torch.log_softmax((logits / temperature).masked_fill(~allowed, NEVER), dim=-1)


def selection_logprobs(
    weights: Weights, encoding: Encoding, lengths: Tensor, dropout: Callable[[Tensor], Tensor] = unchanged
) -> Tensor:
    """Log probabilities of what is taken at the end [shape=(S, B, 6, 5)], own numbers first.

    ``lengths`` [shape=(S, B)] are in acts.
    """
    heard = torch.cat([encoding.states, encoding.embedded], dim=-1)
    mask = torch.arange(heard.shape[2]) <= lengths[..., None]
    both = torch.cat(
        [gru_states(weights, name, _linear(weights, name, heard, "in", "in_bias"), mask) for name in DIRECTIONS],
        dim=-1,
    )
    scores = torch.bmm(torch.tanh(_linear(weights, "attend", both)).flatten(1, 2), weights["attend.score"])
    attention = torch.softmax(scores.view(mask.shape).masked_fill(~mask, NEVER), dim=-1)
    summary = (attention[..., None] * both).sum(2)
    layer = dropout(torch.tanh(_linear(weights, "select", torch.cat([summary, encoding.context], dim=-1))))
    return torch.log_softmax(_linear(weights, "heads", layer).view(*mask.shape[:2], HEADS, CLASSES), dim=-1)


def split_logprobs(selection: Tensor, counts: Tensor) -> Tensor:
    """Log probability of each split that is one of the pool, own and others' heads together [shape=(S, B, 125)].

    The heads are asked for numbers that add up to the pool; a split that is none has `NEVER`.
    """
    kept = torch.from_numpy(KEPT)
    left = counts[..., None, :] - kept
    total = selection.new_zeros(*counts.shape[:-1], SPLITS)
    for item in range(3):
        total = total + selection[..., item, :][..., kept[:, item]]
        total = total + torch.gather(selection[..., 3 + item, :], -1, left[..., item].clamp(min=0))
    return total.masked_fill(~(left >= 0).all(-1), NEVER)
