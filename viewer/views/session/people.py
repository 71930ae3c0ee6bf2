"""The people of a session: in which order they are shown, on which side, in which colour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


PLAYED = ("video", "audio")


@dataclass(frozen=True)
class Player:
    """One file that is played. ``number`` is its place among the session's rows of ``media``.

    ``offset_s`` is the session's second at which it begins; ``people`` are those whom it shows or lets hear.
    """

    number: int
    kind: str
    path: str
    offset_s: float
    people: tuple[Person, ...]

    @property
    def title(self) -> str:
        """Whom it shows, in words."""
        return " and ".join(person.name for person in self.people)


@dataclass(frozen=True)
class Screen:
    """A player on the page: its ``address``, or the ``problem`` why there is none.

    ``peaks`` is where its loudness is asked for; ``sound`` is the loudness itself (JSON) where nothing can be asked.
    """

    player: Player
    address: str = ""
    problem: str = ""
    peaks: str = ""
    sound: str = ""


def players_of(session: Session, people: Mapping[str, Person]) -> tuple[Player, ...]:
    """The files that are played together: pictures first; a file that is both a picture and a sound is one player."""
    rows = [(number, media) for number, media in enumerate(session.media) if media.kind in PLAYED]
    by_file: dict[tuple[str, float], list[tuple[int, str, Person]]] = {}
    for number, media in sorted(rows, key=lambda row: (PLAYED.index(row[1].kind), row[0])):
        shown = by_file.setdefault((media.path, media.offset_s), [])
        shown.append((number, media.kind, people[media.speaker]))
    return tuple(
        Player(shown[0][0], shown[0][1], path, offset_s, tuple(dict.fromkeys(person for _, _, person in shown)))
        for (path, offset_s), shown in by_file.items()
    )
