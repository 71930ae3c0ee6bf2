"""What a player reads: the rules, its role, what happened and it may know, and what it may do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apportion.environments.agents.agent import SILENT
from apportion.environments.deduction.events import SPEAK, Aim, line
from apportion.environments.deduction.private_information import PrivateInformation

SAY = "say something to all, in your own words"
MOST_LISTED = 40
"""Aims that are listed by one; more are told by the first of them."""


def in_text(facts: PrivateInformation, meanings: Mapping[str, str], words: Callable[[str, Aim], str]) -> str:
    """The observation of a player.

    Parameters
    ----------
    facts : Facts
        What it knows.
    meanings : mapping of str to str
        By kind of act what it does.
    words : callable
        An act as something done.
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
