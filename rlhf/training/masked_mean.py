"""Means over the tokens of replies alone."""

from __future__ import annotations

from torch import Tensor


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of ``values`` [shape=(B, L)] over the tokens where ``mask`` is true."""
    return (values * mask).sum() / mask.sum()
