"""The order in which things are taken, which a checkpoint can hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch


class ShuffledOrder(Iterator[int]):
    """Indices 0 to ``count`` - 1 for ever, each once before any comes again.

    They are drawn from ``generator``, torch's global one where it is None. ``left`` holds what is still to come of the
    current round. A round is drawn when its first index is asked for.
    """

    def __init__(self, count: int, left: Sequence[int] = (), generator: torch.Generator | None = None) -> None:
        self._count = count
        self._generator = generator
        self.left = list(left)

    def __next__(self) -> int:
        if not self.left:
            self.left = torch.randperm(self._count, generator=self._generator).tolist()
        return self.left.pop(0)
