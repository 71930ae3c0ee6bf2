"""Choices that a seed decides, such as which sessions are asked about: the same on every machine and Python."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import TypeVar

from apportion.corpus.session import Session

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


def audited(sessions: Iterable[Session], count: int, seed: int) -> tuple[str, ...]:
    """Ids of ``count`` sessions (all, where there are fewer), sorted; a larger count adds to those of a smaller one.

    Sessions of which more than turns is known go first, up to half of ``count``, since only they have descriptors to
    shuffle; the seed decides which.
    """
    drawn = sorted(sessions, key=lambda session: (number(seed, "session", session.session_id), session.session_id))
    recorded = [session.session_id for session in drawn if session.is_observed]
    silent = [session.session_id for session in drawn if not session.is_observed]
    half = min(len(recorded), max(count // 2, count - len(silent)))
    return tuple(sorted([*recorded[:half], *silent[: count - half]]))
