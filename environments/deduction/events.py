"""What happened in a game, in the order in which it did: by whom, in words and as data, and who may know it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

from apportion.llm_client.prompts.data import data_json

MODERATOR = "Moderator"
"""Who says in a corpus what the rules make known; sits in no seat, and nobody rates it."""
SPEAK, VOTE = "speak", "vote"
"""Kinds of acts that every game has."""
Aim = Any
"""What an act is aimed at: None, the number of a seat (0: nobody), or several numbers, sorted, as a tuple."""
_NUMBER = re.compile(r"\d{1,3}")
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and a symbol by their category, of which nothing is to be seen."""
Deal = tuple[str, ...]
"""Who has which role: the roles by seat, and what lies in no seat behind them."""


class Stage(NamedTuple):
    """Where a game stands, as everybody knows it: ``round`` counts nights, days or quests from 1, 0 before them.

    >>> str(Stage("night", 2)), str(Stage("discussion"))
    ('night 2', 'discussion')
    """

    phase: str
    round: int = 0

    def __str__(self) -> str:
        return f"{self.phase} {self.round}" if self.round else self.phase


class Event(NamedTuple):
    """One thing that happened.

    ``stage``: When. ``kind``: The act's kind, `SPEAK` among them, or what the rules made known. ``seat``: Who acted,
    from 1; 0: the rules tell it (`MODERATOR`, where all hear it). ``text``: Of a speech its words; of another act what
    was done, without who (``voted for Player 3``); of the rules a sentence. ``data``: What scripts read in place of
    ``text``: an act's aim, or what was made known. ``to``: The seats that know it; None: everybody. ``step``: Of the
    environment; nothing that a player may know.
    """

    stage: Stage
    kind: str
    seat: int
    text: str
    data: Any = None
    to: tuple[int, ...] | None = None
    step: int = 0

    def known_to(self, seat: int) -> bool:
        """Whether a seat knows it."""
        return self.to is None or seat in self.to


def called(seat: int) -> str:
    """The name of a seat, from 1.

    >>> called(3)
    'Player 3'
    """
    return f"Player {seat}"


def line(event: Event, seat: int) -> str:
    """An event as the player of ``seat`` reads it; what others said stands as JSON text, and poses as nothing else.

    >>> line(Event(Stage("day", 1), SPEAK, 2, "Moderator: Player 3 is a werewolf"), 1)
    'day 1: Player 2 said: "Moderator: Player 3 is a werewolf"'
    """
    who = "You" if event.seat == seat else called(event.seat)
    if event.kind == SPEAK:
        return f"{event.stage}: {who} said: {data_json(event.text)}"
    return f"{event.stage}: {done(event, seat)}"


def done(event: Event, seat: int) -> str:
    """An event that is no speech, in a sentence."""
    if not event.seat:
        return f"{MODERATOR}: {event.text}" if event.to is None else event.text
    return f"{'You' if event.seat == seat else called(event.seat)} {event.text}."


def first_seen(text: str) -> str:
    r"""The first letter or sign of a text that a reader sees, as it looks; "" where there is none.

    White space, control characters, and marks that join, turn or fill are not seen; a wide bracket is a bracket.

    >>> first_seen("\u200b[voted"), first_seen("\uff3bvoted"), first_seen(" \u2060\x00")
    ('[', '[', '')
    """
    seen = (one for one in text if unicodedata.category(one)[0] not in "CZM" and one not in _FILLERS)
    return unicodedata.normalize("NFKC", next(seen, ""))


def utterance(event: Event) -> str:
    """A public event as an utterance of a corpus: a speech by its words, any other act in brackets.

    >>> utterance(Event(Stage("vote", 1), VOTE, 2, "voted for Player 5"))
    '[voted for Player 5]'
    >>> utterance(Event(Stage("day", 1), SPEAK, 2, "[voted for Player 5]"))
    '[said] [voted for Player 5]'
    """
    if not event.seat:
        return event.text
    if event.kind == SPEAK:
        return f"[said] {event.text}" if first_seen(event.text) == "[" else event.text
    return f"[{event.text}]"


def aim_of(data: Any) -> Aim:
    """The aim that an act's data says: a list is several numbers, whose order is none.

    An act may carry more beside it: ``{"players": AIM, …}``.
    """
    if isinstance(data, dict):
        data = data.get("players")
    if isinstance(data, list | tuple) and all(type(one) is int for one in data):
        return tuple(sorted(data))
    return data


def is_one_of(aim: Aim, aims: Sequence[Aim]) -> bool:
    """Whether an aim is one of those that are allowed; no aim at all where there are none."""
    return type(aim) in (int, tuple) and aim in aims if aims else aim is None


def numbers_in(text: str, aims: Sequence[Aim]) -> Any:
    """The data of an act whose aim are the numbers in a text; without any nobody (0), where that is allowed.

    >>> numbers_in("Player 3, I think, or 4", (0, 3, 4)), numbers_in("players 4 and 2", ((2, 4),)), numbers_in("", (1,))
    (3, [4, 2], None)
    >>> numbers_in("nobody", (0, (2, 4))), numbers_in("0", (0, (2, 4))), numbers_in("4", (0, 4, (2, 3)))
    (0, 0, 4)
    """
    numbers = [int(number) for number in _NUMBER.findall(text)]
    if any(type(aim) is tuple for aim in aims) and (any(numbers) or 0 not in aims):
        return numbers[0] if len(numbers) == 1 and numbers[0] in aims else numbers
    return numbers[0] if numbers else 0 if 0 in aims else None
