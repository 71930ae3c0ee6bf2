"""Eq. 1 once more, slowly: torch, padding and all; compiled loops are held to it, in float64."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from apportion.environments.negotiation.action_encoding import ACTS, AGREE
from apportion.environments.negotiation.vectorized.engine import KEPT
from apportion.rlhf.negotiation.data.dialogues import Dialogues
from apportion.rlhf.negotiation.model.likelihood.descent import Dropout
from apportion.rlhf.negotiation.model.network import WAYS, Weights, embeddings, looked_up, read_context
from apportion.rlhf.negotiation.model.recurrent import gru_step


def _linear(weights: Weights, name: str, given: Tensor) -> Tensor:
    return torch.einsum("s...i,sio->s...o", given, weights[f"{name}.weight"]) + _beside(weights[f"{name}.bias"], given)


def _beside(bias: Tensor, given: Tensor) -> Tensor:
    return bias.view(len(bias), *[1] * (given.dim() - 2), -1)


def _gru(weights: Weights, name: str, given: Tensor, there: Tensor, backwards: bool = False) -> Tensor:
    """The states after every step [shape=(S, B, T, H)]; where nothing is ``there``, the state stays as it was."""
    brought = torch.einsum("s...i,sio->s...o", given, weights[f"{name}.in"]) + _beside(
        weights[f"{name}.in_bias"], given
    )
    state = given.new_zeros(*given.shape[:2], weights[f"{name}.state"].shape[1])
    states = [state] * given.shape[2]
    for step in reversed(range(len(states))) if backwards else range(len(states)):
        new = gru_step(weights[f"{name}.state"], weights[f"{name}.state_bias"], brought[:, :, step], state)
        state = torch.where(there[:, :, step, None], new, state)
        states[step] = state
    return torch.stack(states, dim=2)


def plain_loss(weights: Weights, dialogues: Dialogues, alpha: float, dropout: Dropout | None = None) -> Tensor:
    """Eq. 1 over dialogues [shape=(S, B, ...)], divided by their number of acts [shape=(S,)]."""

    def dropped(given: Tensor) -> Tensor:
        if dropout is None:
            return given
        drawn = torch.stack([torch.rand(given.shape[1:], generator=one) for one in dropout.draws])
        return given * (drawn >= dropout.share) / (1 - dropout.share)

    inputs, roles = torch.from_numpy(dialogues.inputs), torch.from_numpy(dialogues.next_roles)
    there = torch.arange(inputs.shape[-1]) <= torch.from_numpy(dialogues.lengths)[..., None]
    context = read_context(weights, torch.from_numpy(dialogues.counts), torch.from_numpy(dialogues.values))
    table = embeddings(weights)
    embedded = dropped(looked_up(table, inputs) + looked_up(weights["role"], roles))
    beside = context[:, :, None].expand(-1, -1, inputs.shape[-1], -1)
    states = dropped(_gru(weights, "gru", torch.cat([embedded, beside], dim=-1), there))

    scores = torch.einsum("sbte,sae->sbta", _linear(weights, "out", states[:, :, :-1]), table[:, :ACTS])
    fits = (dialogues.counts[..., None, :] >= KEPT).all(-1)
    fits = np.concatenate([fits, fits, np.ones((*fits.shape[:-1], ACTS - AGREE), dtype=np.bool_)], axis=-1)
    likely = (scores + _beside(weights["act.bias"], scores)).masked_fill(
        ~torch.from_numpy(fits)[:, :, None], -torch.inf
    )
    targets = torch.from_numpy(dialogues.targets())
    said = torch.gather(likely.log_softmax(-1), -1, targets.clamp(min=0)[..., None])[..., 0]
    total = -said.masked_fill(targets < 0, 0).sum((1, 2))
    if alpha:
        total = total - alpha * _taken(weights, states, embedded, context, there, dialogues, dropped)
    return total / (targets >= 0).sum((1, 2)).clamp(min=1)


def _taken(weights, states, embedded, context, there, dialogues, dropped) -> Tensor:  # type: ignore[no-untyped-def]
    heard = torch.cat([states, embedded], dim=-1)
    both = torch.cat([_gru(weights, way, heard, there, way == "back") for way in WAYS], dim=-1)
    scores = torch.einsum("sbta,sao->sbt", torch.tanh(_linear(weights, "attend", both)), weights["attend.score"])
    shares = scores.masked_fill(~there, -torch.inf).softmax(-1)
    seen = (shares[..., None] * both).sum(2)
    layer = dropped(torch.tanh(_linear(weights, "select", torch.cat([seen, context], dim=-1))))
    heads = _linear(weights, "heads", layer)
    heads = heads.view(*heads.shape[:2], 6, 5).log_softmax(-1)
    taken = torch.from_numpy(dialogues.taken)
    ends = torch.gather(heads, -1, taken.clamp(min=0)[..., None])[..., 0]
    return ends.masked_fill(taken < 0, 0).sum((1, 2))
