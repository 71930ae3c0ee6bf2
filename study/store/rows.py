"""What is kept of a study, what pages are told, and what can go wrong between."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from apportion.foundation.errors import ApportionError, InputError
from apportion.study.rows import AnswerRow

ANNOTATOR = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""An annotator's id: ours (``a001``), or a platform's."""


class NoSuchLinkError(InputError):
    """A link that lets nobody in."""


class StudyStoreError(InputError):
    """Somebody with this id has begun already; only who has the link of then goes on."""


class FullError(InputError):
    """All items have the people they need, or the public link has let in as many as it may."""


class NotTheirsError(InputError):
    """An item that this annotator does not have."""


class StaleError(InputError):
    """The answer has been changed since the page was opened, say in another tab.

    ``now`` is the answer as it is kept; None where there is none.
    """

    def __init__(self, message: str, now: AnswerRow | None) -> None:
        super().__init__(message)
        self.now = now


class StudyChangedError(InputError):
    """The study is another one than the database has answers to; no annotator needs to know of it."""


class DatabaseAwayError(ApportionError):
    """The database cannot be reached now; nothing of what was asked for is confirmed, and asking again is safe."""


@dataclass(frozen=True)
class Annotator:
    """One person, by id; nothing else is known of them."""

    id: str
    consented: bool = False
    instructed: bool = False
    finished: bool = False


@dataclass(frozen=True)
class Assignment:
    """Where somebody stands: ``number`` of ``total`` practice items, or of items that follow (checks among them)."""

    kind: Literal["consent", "instructions", "practice", "item", "done"]
    item: str | None = None
    number: int = 0
    total: int = 0


@dataclass(frozen=True)
class Answer:
    """What somebody answers on an item: by criterion (`study.design.answers`), in words, and how it came about.

    ``seconds`` and ``focus_lost`` (how often the page was left) are of this visit of the item.
    """

    answers: Mapping[str, Any]
    reason: str = ""
    seconds: float = 0.0
    focus_lost: int = 0
