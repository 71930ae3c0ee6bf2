"""A chat that was read and is in no corpus yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from apportion.corpus.importers.chats.messages import Message


@dataclass(frozen=True)
class Score:
    """A score as it was written, of the whole chat, or of one ``turn``; ``by``: who gave it, where that is told."""

    name: str
    value: Any
    by: str | None = None
    by_model: bool = False
    turn: int | None = None


@dataclass(frozen=True)
class Chat:
    """``place`` in its file, an ``id`` where it has one, what was said, and what was thought of it."""

    place: str
    id: str | None
    said: list[Message]
    scores: list[Score] = field(default_factory=list)
