"""What scripted players say, and understand of each other: a role, whom they hold for evil, whom they trust.

The rules read none of it. Other scripts do, by these very sentences; whoever speaks otherwise is not understood.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from apportion.environments.deduction.avalon.observation import players_in_words
from apportion.environments.deduction.events import SPEAK, Event

_EVIL, _TRUST = re.compile(r"I hold (Player [^.]*) for evil\."), re.compile(r"I trust (Player [^.]*)\.")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Claim:
    """What is said; seats from 1.

    ``role``: That the speaker claims, as in "I am ROLE."; empty: none. ``evil``, ``trusted``: Whom the speaker holds
    for evil, and whom for good.

    >>> claim = Claim("a Servant of Arthur", (2, 5), (1,))
    >>> claim.sentence
    'I am a Servant of Arthur. I hold Player 2 and Player 5 for evil. I trust Player 1.'
    >>> Claim.read(claim.sentence) == Claim("", claim.evil, claim.trusted)
    True
    """

    role: str = ""
    evil: tuple[int, ...] = ()
    trusted: tuple[int, ...] = ()

    @property
    def sentence(self) -> str:
        """The claim in words."""
        parts = [f"I am {self.role}."] if self.role else []
        parts += [f"I hold {players_in_words(self.evil)} for evil."] if self.evil else []
        parts += [f"I trust {players_in_words(self.trusted)}."] if self.trusted else []
        return " ".join(parts) or "I have nothing to say yet."

    @staticmethod
    def read(text: str) -> Claim:
        """Who is accused and who trusted in a speech; a role that is claimed decides nothing, and is not read."""
        return Claim("", _named(_EVIL, text), _named(_TRUST, text))


def claims_in(events: Sequence[Event]) -> list[tuple[int, Claim]]:
    """The last claim of each speaker (a seat from 1), in the order in which they were made first."""
    last = {event.seat: event.text for event in events if event.kind == SPEAK}
    return [(seat, Claim.read(text)) for seat, text in last.items()]


def all_claims_in(events: Sequence[Event]) -> list[tuple[int, Claim]]:
    """Every claim that was made, in order, with its speaker (a seat from 1)."""
    return [(event.seat, Claim.read(event.text)) for event in events if event.kind == SPEAK]


def _named(said: re.Pattern[str], text: str) -> tuple[int, ...]:
    found = said.search(text)
    return tuple(int(number[:4]) for number in _NUMBER.findall(found[1])) if found else ()
