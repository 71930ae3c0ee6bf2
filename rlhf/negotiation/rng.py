"""Random numbers by their purpose: a seed draws the same in any company, and a training that goes on needs no state."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray


def number_of(seed: int, purpose: str, *places: int) -> int:
    """A number of 63 bits that stands for one purpose of one seed."""
    text = "/".join(map(str, (seed, purpose, *places)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def draws_of(seed: int, purpose: str, *places: int) -> np.random.Generator:
    """Random numbers of one purpose of one seed, such as an epoch's order."""
    return np.random.Generator(np.random.PCG64(number_of(seed, purpose, *places)))


def torch_draws_of(seeds: Sequence[int], purpose: str, *places: int) -> list[torch.Generator]:
    """The same for the network, a generator a seed."""
    return [torch.Generator().manual_seed(number_of(seed, purpose, *places)) for seed in seeds]


def chances(seeds: Sequence[int], games: int, acts: int, purpose: str, *places: int) -> NDArray[np.float64]:
    """Numbers in [0, 1) by which acts are drawn, one an act of every game [shape=(S * games, acts)]."""
    return np.concatenate([draws_of(seed, purpose, *places).random((games, acts)) for seed in seeds])
