"""One session as it is shown: its transcript with the sides of its speakers."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.report.text import clean, seconds
from viewer.reading.session import SessionTables


@dataclass(frozen=True)
class TurnView:
    """One utterance; ``side`` is 0 for the first target, 1 for the others."""

    turn: int
    speaker: str
    text: str
    time: str
    side: int


@dataclass(frozen=True)
class SessionView:
    """A session's page."""

    session_id: str
    split: str
    turns: tuple[TurnView, ...]
    before: str | None
    after: str | None


def session_view(tables: SessionTables) -> SessionView:
    """What the page of a session shows."""
    session = tables.session
    targets = {rating.target for rating in session.ratings}
    return SessionView(
        session_id=clean(session.session_id, 120),
        split=tables.split or "",
        turns=tuple(
            TurnView(
                t.turn, clean(t.speaker, 60), clean(t.text, 20_000), seconds(t.start_s), int(t.speaker not in targets)
            )
            for t in session.turns
        ),
        before=tables.before,
        after=tables.after,
    )
