"""Processes that share every batch: one by itself, or several that Hugging Face accelerate joins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

T = TypeVar("T")


class Processes:
    """What one of N processes knows of the others; the only one where ``accelerator`` is None.

    Each takes its share of a batch's episodes, and gradients are summed over all, so that N processes take the same
    steps as one (but for rounding, and for dropout's random numbers).
    """

    def __init__(self, accelerator: Any = None) -> None:
        self._accelerator = accelerator
        self.rank: int = 0 if accelerator is None else accelerator.process_index
        self.size: int = 1 if accelerator is None else accelerator.num_processes

    def strided_part(self, values: Sequence[T]) -> Sequence[T]:
        """This process' part of ``values``: every N-th one, from its own number on."""
        return values[self.rank :: self.size]

    def contiguous_part(self, count: int) -> slice:
        """Where this process' part of ``count`` things lies; the parts of all processes, one after another, are all."""
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def broadcast(self, value: T) -> T:
        """The first process' ``value``, in every process."""
        if self._accelerator is None:
            return value
        from accelerate.utils import broadcast_object_list

        held = [value]
        broadcast_object_list(held)
        return held[0]

    def gather_objects(self, value: T) -> list[T]:
        """Every process' ``value`` (N of them, on the CPU), in every process."""
        if self._accelerator is None:
            return [value]
        from accelerate.utils import gather_object

        values: list[T] = gather_object([value])
        return values

    def wait(self) -> None:
        """Go on once every process has come here."""
        if self._accelerator is not None:
            self._accelerator.wait_for_everyone()

    def sum(self, values: Tensor) -> Tensor:
        """The sum of all processes' tensors of one shape."""
        if self._accelerator is None:
            return values
        total: Tensor = self._accelerator.reduce(values.to(self._accelerator.device), "sum")
        return total.to(values.device)

    def gather(self, values: Tensor) -> Tensor:
        """The tensors of all processes, (N, …)."""
        if self._accelerator is None:
            return values.unsqueeze(0)
        gathered: Tensor = self._accelerator.gather(values.unsqueeze(0).to(self._accelerator.device))
        return gathered.to(values.device)

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Put into each process' gradients the sum of all; they may lie on several devices."""
        if self._accelerator is None:
            return
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
        flat = self.sum(torch.cat([gradient.reshape(-1).to(self._accelerator.device) for gradient in gradients]))
        for parameter, part in zip(trained, torch.split(flat, [p.numel() for p in trained]), strict=True):
            parameter.grad = part.view_as(parameter).to(parameter.device)
