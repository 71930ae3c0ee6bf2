"""Values of states, read from the policy's own last hidden states."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ValueHead(nn.Module):
    """One linear layer on the shared backbone; it starts at 0, the mean of normalised scores."""

    def __init__(self, width: int, device: torch.device | None = None, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.out = nn.Linear(width, 1, device=device, dtype=dtype)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        """Values [shape=(B, L)] of hidden states [shape=(B, L, width)]."""
        values: Tensor = self.out(hidden.to(self.out.weight.dtype)).squeeze(-1)
        return values
