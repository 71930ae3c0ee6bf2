"""What of a session is played: each file once, however many people it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion.corpus.session import Session
from apportion.viewer.views.session.people import Person

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
