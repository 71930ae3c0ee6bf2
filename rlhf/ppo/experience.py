"""One step's responses with all that the updates need, and how they are divided among optimizer steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from apportion.rlhf.sampling.rollout import Rollout
from apportion.rlhf.settings import AlignSettings


@dataclass(frozen=True)
class Experience:
    """Responses as they were sampled; tensors have shape (B, L), float."""

    rollout: Rollout
    logp: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor

    def rows(self, places: Tensor, cut: bool = False) -> Experience:
        """The rows ``places`` [shape=(b,)] alone; ``cut`` drops columns that only pad these rows."""
        rollout = self.rollout.rows(places, cut)
        length = rollout.mask.shape[1]
        parts = (self.logp, self.values, self.advantages, self.returns)
        return Experience(rollout, *(part[places, :length] for part in parts))


def minibatches(rollout: Rollout, settings: AlignSettings) -> tuple[Tensor, ...]:
    """Row numbers [shape=(b,)] int64 of each optimizer step of one pass, in random order.

    With ``group_by_length`` a minibatch holds responses of like length, and the minibatches come in random order.
    """
    order = torch.randperm(settings.batch_size)
    count = -(-settings.batch_size // settings.mini_batch_size)
    if not settings.group_by_length:
        return torch.chunk(order, count)
    sizes = rollout.attention.sum(dim=1).cpu()[order]
    buckets = torch.chunk(order[torch.argsort(sizes, stable=True)], count)
    return tuple(buckets[index] for index in torch.randperm(len(buckets)).tolist())


def micro_batches(rollout: Rollout, rows: Tensor, settings: AlignSettings) -> Iterator[Tensor]:
    """``rows`` in the parts that go through the model at once, each on the rollout's device."""
    size = settings.micro_batch_size or settings.mini_batch_size
    if settings.group_by_length:
        rows = rows[torch.argsort(rollout.attention.sum(dim=1).cpu()[rows], stable=True)]
    for part in torch.split(rows, size) if len(rows) else ():
        yield part.to(rollout.tokens.device)
