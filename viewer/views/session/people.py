"""The people of a session: in which order they are shown, on which side, in which colour."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from apportion.corpus.session import Session
from apportion.foundation.html.text import clean

COLOURS = 6
"""Classes ``p0`` to ``p5`` of the style sheet; more people share them."""
NAME = 60


@dataclass(frozen=True)
class Person:
    """One who speaks or is recorded. ``side`` is 0 for the target, whose turns stand on the left, else 1."""

    speaker: str
    name: str
    colour: str
    side: int


def people_of(session: Session, target: str | None) -> dict[str, Person]:
    """Everybody by the speaker's name: the target first, then in the order in which they first speak."""
    order: Iterable[str] = dict.fromkeys(
        [
            *([target] if target is not None else []),
            *(turn.speaker for turn in session.turns),
            *(media.speaker for media in session.media),
        ]
    )
    speakers = list(order)
    first = target if target is not None else (speakers[0] if speakers else None)
    return {
        speaker: Person(speaker, clean(speaker, NAME), f"p{number % COLOURS}", int(speaker != first))
        for number, speaker in enumerate(speakers)
    }
