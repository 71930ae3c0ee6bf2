"""Products of what was read with weights that have several parts, their gradient written where it belongs.

Left to autograd, the gradient of every part of a weight is a matrix of its own, which is copied into one as large as
the weight; here each product's gradient is written into its place at once. At the study's sizes no bit changes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from rlhf.negotiation.model.packing import Rows, packed, unpacked


class _Scored(torch.autograd.Function):
    """Scores by the first rows of a table turned round."""

    @staticmethod
    def forward(ctx: Any, given: Tensor, table: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(given, table)
        ctx.rows = bias.shape[-1]
        return torch.baddbmm(bias[:, None], given, table[:, : ctx.rows].transpose(1, 2))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scored: Tensor) -> tuple[Tensor, ...]:
        given, table = ctx.saved_tensors
        by_table = torch.empty_like(table)
        torch.bmm(scored.transpose(1, 2), given, out=by_table[:, : ctx.rows])
        by_table[:, ctx.rows :] = 0
        return torch.bmm(scored, table[:, : ctx.rows]), by_table, scored.sum(1)


def scored(given: Tensor, table: Tensor, bias: Tensor) -> Tensor:
    """What each of the first A rows of a table [shape=(S, R, E)] scores, ``bias`` [shape=(S, A)] with it.

    ``given`` has shape (S, N, E), the scores (S, N, A).
    """
    scores: Tensor = _Scored.apply(given, table, bias)  # type: ignore[no-untyped-call]
    return scores


class _Gated(torch.autograd.Function):
    """What embeddings and contexts bring to the gates."""

    @staticmethod
    def forward(ctx: Any, embedded: Tensor, context: Tensor, weight: Tensor, bias: Tensor, rows: Rows | None) -> Tensor:
        read = packed(embedded.flatten(1, 2), rows)
        ctx.save_for_backward(read, context, weight)
        ctx.rows, ctx.shape = rows, embedded.shape
        matrix, known = torch.split(weight, [embedded.shape[-1], context.shape[-1]], dim=1)
        beside = torch.baddbmm(bias[:, None], context, known)
        return unpacked(torch.bmm(read, matrix), rows).view(*embedded.shape[:3], -1) + beside[:, :, None]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, brought: Tensor) -> tuple[Tensor | None, ...]:
        read, context, weight = ctx.saved_tensors
        width = read.shape[-1]
        beside, flat = brought.sum(2), packed(brought.flatten(1, 2), ctx.rows)
        by_weight = torch.empty_like(weight)
        torch.bmm(read.transpose(1, 2), flat, out=by_weight[:, :width])
        torch.bmm(context.transpose(1, 2), beside, out=by_weight[:, width:])
        by_embedded = unpacked(torch.bmm(flat, weight[:, :width].transpose(1, 2)), ctx.rows).view(ctx.shape)
        return by_embedded, torch.bmm(beside, weight[:, width:].transpose(1, 2)), by_weight, beside.sum(1), None


def gated(embedded: Tensor, context: Tensor, weight: Tensor, bias: Tensor, rows: Rows | None = None) -> Tensor:
    """What embeddings [shape=(S, B, T, E)] and contexts [shape=(S, B, C)] bring to gates [shape=(S, B, T, 3H)].

    ``weight`` [shape=(S, E + C, 3H)] reads the embedding above, the context below. Of embeddings that are not among
    ``rows`` nothing is brought, of contexts as ever.
    """
    brought: Tensor = _Gated.apply(embedded, context, weight, bias, rows)  # type: ignore[no-untyped-call]
    return brought


class _BothWays(torch.autograd.Function):
    """What states and embeddings bring to the gates of the selection's two GRUs, one beside the other."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        embedded: Tensor,
        ahead: Tensor,
        back: Tensor,
        ahead_bias: Tensor,
        back_bias: Tensor,
        rows: Rows | None,
    ) -> Tensor:
        whole = torch.cat([ahead, back], dim=-1)
        states, embedded = packed(states, rows), packed(embedded, rows)
        ctx.save_for_backward(states, embedded, whole)
        ctx.rows = rows
        heard, matrix = torch.split(whole, [states.shape[-1], embedded.shape[-1]], dim=1)
        bias = torch.cat([ahead_bias, back_bias], dim=-1)[:, None]
        brought = torch.baddbmm(bias, states, heard)
        return unpacked(torch.baddbmm(brought, embedded, matrix), rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, brought: Tensor) -> tuple[Tensor | None, ...]:
        states, embedded, whole = ctx.saved_tensors
        brought = packed(brought, ctx.rows)
        units, width = states.shape[-1], whole.shape[-1] // 2
        by_weights = []
        for part in torch.split(brought, width, dim=-1):
            by_weight = whole.new_empty(*whole.shape[:2], width)
            torch.bmm(states.transpose(1, 2), part, out=by_weight[:, :units])
            torch.bmm(embedded.transpose(1, 2), part, out=by_weight[:, units:])
            by_weights.append(by_weight)
        parts = whole[:, :units], whole[:, units:]
        by_states, by_embedded = (unpacked(torch.bmm(brought, one.transpose(1, 2)), ctx.rows) for one in parts)
        return by_states, by_embedded, *by_weights, *torch.split(brought.sum(1), width, dim=-1), None


def both_ways(
    states: Tensor,
    embedded: Tensor,
    weights: tuple[Tensor, Tensor],
    biases: tuple[Tensor, Tensor],
    rows: Rows | None = None,
) -> Tensor:
    """What states [shape=(S, N, H)] and embeddings [shape=(S, N, E)] bring to the gates of two ways.

    Each of ``weights`` [shape=(S, H + E, 3A)] reads the state above, the embedding below; the gates [shape=(S, N, 6A)]
    of the first way stand before the second's. What is not among ``rows`` brings nothing.
    """
    brought: Tensor = _BothWays.apply(states, embedded, *weights, *biases, rows)  # type: ignore[no-untyped-call]
    return brought
