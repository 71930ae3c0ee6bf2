"""One synthetic conversation with everything that was planted in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion.corpus.session import Session

EVENT_KINDS = ("nod_yes", "nod_no", "smile", "pitch_up", "pitch_down")


@dataclass(frozen=True)
class Event:
    """One planted behaviour of ``person``, from ``start_s`` to ``end_s`` on the session clock."""

    person: str
    kind: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Planted:
    """A session, the planted quality (-2 to 2) of each rated turn by turn number, and the planted events."""

    session: Session
    topic: str
    qualities: Mapping[int, int]
    events: tuple[Event, ...] = ()
