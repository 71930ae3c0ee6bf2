"""Keeping a run from what is around it: random numbers, the terminal; and an order that a checkpoint can hold."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from transformers.utils import logging


@contextmanager
def seeded_rng(seed: int) -> Iterator[None]:
    """torch's generators at ``seed`` inside; those of torch, numpy and Python are afterwards as they were."""
    python, numpy = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """No progress bars of transformers and nothing below an error inside; as it was outside."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        with warnings.catch_warnings():
            # peft asks for attributes that transformers has renamed.
            warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


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
