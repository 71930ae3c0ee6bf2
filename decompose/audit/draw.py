"""Choices that a seed decides, the same on every machine and in every version of Python."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TypeVar

_Item = TypeVar("_Item")


def number(seed: int, *what: object) -> int:
    """A whole number that depends on ``seed`` and ``what`` alone, evenly spread over 0 to 2**64 - 1."""
    text = json.dumps([seed, *what], ensure_ascii=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def one_of(items: Sequence[_Item], seed: int, *what: object) -> _Item:
    """One of ``items``, which are not empty."""
    return items[number(seed, *what) % len(items)]


def shuffled(items: Sequence[_Item], seed: int, *what: object) -> list[_Item]:
    """``items`` in another order: never the one they have, where there are two that differ."""
    order = sorted(range(len(items)), key=lambda index: number(seed, *what, index))
    reordered = [items[index] for index in order]
    return reordered if reordered != list(items) else [*reordered[1:], *reordered[:1]]
