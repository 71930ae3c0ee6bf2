"""Products of what was read with weights that have several parts, their gradient written where it belongs.

Left to autograd, the gradient of every part of a weight is a matrix of its own, which is copied into one as large as
the weight; here each product's gradient is written into its place at once. At the study's sizes no bit changes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


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
    def forward(ctx: Any, embedded: Tensor, context: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        read = embedded.flatten(1, 2)
        ctx.save_for_backward(read, context, weight)
        ctx.shape = embedded.shape
        matrix, known = torch.split(weight, [embedded.shape[-1], context.shape[-1]], dim=1)
        beside = torch.baddbmm(bias[:, None], context, known)
        return torch.bmm(read, matrix).view(*embedded.shape[:3], -1) + beside[:, :, None]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, brought: Tensor) -> tuple[Tensor, ...]:
        read, context, weight = ctx.saved_tensors
        width = read.shape[-1]
        beside, flat = brought.sum(2), brought.flatten(1, 2)
        by_weight = torch.empty_like(weight)
        torch.bmm(read.transpose(1, 2), flat, out=by_weight[:, :width])
        torch.bmm(context.transpose(1, 2), beside, out=by_weight[:, width:])
        by_embedded = torch.bmm(flat, weight[:, :width].transpose(1, 2)).view(ctx.shape)
        return by_embedded, torch.bmm(beside, weight[:, width:].transpose(1, 2)), by_weight, beside.sum(1)


def gated(embedded: Tensor, context: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """What embeddings [shape=(S, B, T, E)] and contexts [shape=(S, B, C)] bring to gates [shape=(S, B, T, 3H)].

    ``weight`` [shape=(S, E + C, 3H)] reads the embedding above, the context below.
    """
    brought: Tensor = _Gated.apply(embedded, context, weight, bias)  # type: ignore[no-untyped-call]
    return brought
