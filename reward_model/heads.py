"""The heads of a reward model: E small networks on one embedding, whose mean is the reward and whose spread its sd."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Heads(nn.Module):
    """E heads (layer norm, one hidden layer), each with weights of its own, computed side by side.

    Weights are drawn one head after the other, so that the first is the same however many follow it.
    """

    def __init__(self, count: int, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        drawn = [nn.Linear(width, hidden) for _ in range(count)]
        self.norm_weight = nn.Parameter(torch.ones(count, 1, width))
        self.norm_bias = nn.Parameter(torch.zeros(count, 1, width))
        self.inner_weight = nn.Parameter(torch.stack([one.weight.detach().T for one in drawn]))
        self.inner_bias = nn.Parameter(torch.stack([one.bias.detach()[None] for one in drawn]))
        # Training starts at the mean: the first guess is the best constant one.
        self.last_weight = nn.Parameter(torch.zeros(count, hidden, 1))
        self.last_bias = nn.Parameter(torch.zeros(count, 1, 1))
        self.dropout = nn.Dropout(dropout)

    def forward(self, embeddings: Tensor) -> Tensor:
        """What each head says [shape=(N, E)] of embeddings [shape=(N, d)]."""
        normed = functional.layer_norm(embeddings, embeddings.shape[-1:])
        read = normed * self.norm_weight + self.norm_bias
        inner = self.dropout(functional.gelu(torch.baddbmm(self.inner_bias, read, self.inner_weight)))
        return torch.baddbmm(self.last_bias, inner, self.last_weight).squeeze(-1).T


class HeadsOfTwoReaders(nn.Module):
    """E heads on what one network reads of a turn, and E on what another does: two that are wrong in other places."""

    def __init__(self, count: int, widths: tuple[int, int], hidden: int, dropout: float) -> None:
        super().__init__()
        self.widths = widths
        self.one, self.other = (Heads(count, width, hidden, dropout) for width in widths)

    def forward(self, embeddings: Tensor) -> Tensor:
        """What each head says [shape=(N, 2 E)]; both readings stand side by side, and more may follow."""
        width, beside = self.widths
        return torch.cat([self.one(embeddings[:, :width]), self.other(embeddings[:, width : width + beside])], dim=1)
