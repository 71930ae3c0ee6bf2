"""What a player reads: the rules, its role, what happened and it may know, and what it may do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from apportion.environments.actions import SILENT
from apportion.environments.deduction.events import SPEAK, Aim, Deal, Event, Stage, line


@dataclass(frozen=True)
class PrivateInformation:
    """What one seat knows now; holds nothing that the observation would not tell.

    ``seat``: From 1. ``role``, ``team``: Its own, as far as it knows them. ``stage``: Where the game stands. ``alive``:
    Seats that still play. ``events``: What happened and it may know, in order; the numbers of their steps are left out
    (0). ``choices``: By kind of act what it may be aimed at now; no aim where that is empty. Nothing when it is not its
    turn. ``default``: The act for which the silent one stands now; None: doing nothing at all. ``rules``: The game's
    options. ``told``: The rules in words, and the own role. ``fits``: The deals that a seat's facts allow, from these
    alone.
    """

    seat: int
    role: str
    team: str
    stage: Stage
    alive: tuple[int, ...]
    events: tuple[Event, ...]
    choices: Mapping[str, tuple[Aim, ...]]
    default: tuple[str, Aim] | None
    rules: Any
    told: tuple[str, str]
    fits: Callable[[PrivateInformation], Sequence[Deal]] = field(repr=False, compare=False)

    @property
    def phase(self) -> str:
        """Of the stage."""
        return self.stage.phase

    @cached_property
    def deals(self) -> Sequence[Deal]:
        """Every deal that fits what it knows; made when somebody asks."""
        return self.fits(self)


SAY = "say something to all, in your own words"
MOST_LISTED = 40
"""Aims that are listed by one; more are told by the first of them."""


def in_text(facts: PrivateInformation, meanings: Mapping[str, str], words: Callable[[str, Aim], str]) -> str:
    """The observation of a player.

    ``facts``: What it knows. ``meanings``: By kind of act what it does. ``words``: An act as something done.
    """
    lines = [*facts.told, "What happened so far, as you know it:" if facts.events else "Nothing happened so far."]
    lines += [f"#{number} {line(event, facts.seat)}" for number, event in enumerate(facts.events, 1)]
    lines.append(f"Still in the game: {', '.join(f'Player {seat}' for seat in facts.alive)}.")
    if facts.choices:
        lines.append(f"It is your turn ({facts.stage}). You may:")
        lines += [f"- {one}" for one in possible(facts, meanings, words)]
    return "\n".join(lines)


def possible(facts: PrivateInformation, meanings: Mapping[str, str], words: Callable[[str, Aim], str]) -> list[str]:
    """What a player may do now, a line each: the kind of act, what it does, and at whom it may be aimed."""
    rows = []
    for kind, aims in facts.choices.items():
        meaning = SAY if kind == SPEAK else meanings[kind]
        rows.append(f"{kind}: {meaning}{f' (players: {listed(aims)})' if aims else ''}")
    return [*rows, f"{SILENT}: {instead(facts, words)}"]


def instead(facts: PrivateInformation, words: Callable[[str, Aim], str]) -> str:
    """What the silent act does now."""
    if facts.default is None:
        return "say nothing" if SPEAK in facts.choices else "do nothing"
    return f"do nothing; it stands for: {words(*facts.default)}"


def listed(aims: tuple[Aim, ...]) -> str:
    """Aims as lists of numbers.

    >>> listed((0, 3)), listed(((1, 2), (1, 3)))
    ('[0] or [3]', '[1, 2] or [1, 3]')
    """
    texts = [str(list(aim) if isinstance(aim, tuple) else [aim]) for aim in aims[:MOST_LISTED]]
    return " or ".join(texts) + (" …" if len(aims) > MOST_LISTED else "")
