"""Keeping a run from what is around it: random numbers outside it, and the terminal, which belongs to its progress."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from transformers.utils import logging


@contextmanager
def own_randomness(seed: int) -> Iterator[None]:
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
