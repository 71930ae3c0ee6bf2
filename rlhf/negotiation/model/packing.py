"""Rows that are there, put together: dialogues of unlike lengths are padded, and padding is not multiplied."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

FULL = 0.8
"""Where so much of it is there, as a share, an array stays as it is."""


@dataclass(frozen=True)
class Rows:
    """Which of N rows of each seed are there, as many for every seed as for the one with most of them.

    Parameters
    ----------
    places : int64 [shape=(S, P)]
        Among the rows of all seeds, one seed after the other; the rest of a shorter seed's is one that is not there.
    back : int64 [shape=(S, P)]
        Where a row is put back; the rest goes to a row after all of them.
    count : int
        N.
    """

    places: Tensor
    back: Tensor
    count: int

    @classmethod
    def of(cls, there: Tensor) -> Rows | None:
        """Those of a mask [shape=(S, N)]; None where nearly all is there."""
        seeds, count = there.shape
        width = max(1, int(there.sum(1).max()))
        if width > FULL * count:
            return None
        order = torch.argsort((~there).to(torch.uint8), dim=1, stable=True)
        places = order + count * torch.arange(seeds)[:, None]
        own = torch.gather(there, 1, order[:, :width])
        filled = torch.where(own, places[:, :width], places[:, -1:])
        return cls(filled, torch.where(own, filled, seeds * count), count)

    @property
    def filled(self) -> Tensor:
        """Where a seed has fewer [shape=(S, P)]."""
        return self.back == len(self.places) * self.count


def packed(given: Tensor, rows: Rows | None) -> Tensor:
    """Of an array [shape=(S, N, W)] the ``rows`` [shape=(S, P, W)]; all of it without them.

    Where a seed has fewer, padding stands in their place: what comes back to it must be zero, as to all padding.
    """
    if rows is None:
        return given
    return given.flatten(0, 1).index_select(0, rows.places.flatten()).view(*rows.places.shape, -1)


def unpacked(given: Tensor, rows: Rows | None) -> Tensor:
    """An array [shape=(S, P, W)] with its ``rows`` where they were [shape=(S, N, W)], zeros between."""
    if rows is None:
        return given
    seeds, _, width = given.shape
    whole = given.new_zeros(seeds * rows.count + 1, width)
    whole.index_copy_(0, rows.back.flatten(), given.flatten(0, 1))
    return whole[:-1].view(seeds, rows.count, width)
