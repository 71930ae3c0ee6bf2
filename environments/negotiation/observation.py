"""What one seat of a negotiation knows: the pool, its own values, what was done; nothing of the other's values.

What somebody else said stands as JSON text, so that no word of it can end its place or pose as an instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from apportion.environments.actions import Action
from apportion.environments.negotiation.action_encoding import SPLIT_OF, act_code, rest, split_code
from apportion.environments.negotiation.contexts import ITEMS, WORTH, Counts
from apportion.environments.negotiation.realization import in_words
from apportion.llm_client.prompts.data import data_json

SELECT = "select"
"""The kind of act by which one takes one's items at the end, unseen by the other."""


class PrivateInformation(NamedTuple):
    """What a seat knows, as data.

    ``values`` are its own; ``acts`` are numbers, the first of seat ``starter``; ``standing`` is the split
    that ``by`` keeps by the last proposal (-1: none), ``settled`` whether it was agreed to; ``legal`` are the acts that
    the seat may do now; ``over`` says that it has to select, and ``meant`` which split was then agreed on for it;
    ``wording`` is a number of this step of this episode, by which scripts choose their words; ``heard`` are the acts
    with their words, each with the seat that did it.
    """

    seat: int
    counts: Counts
    values: tuple[int, ...]
    acts: Sequence[int]
    starter: int
    standing: int
    by: int
    settled: bool
    legal: tuple[int, ...]
    over: bool
    meant: int | None
    wording: int
    heard: Sequence[tuple[int, Action]]
    most_acts: int

    def worth(self, split: int) -> int:
        """Points of a split to this seat."""
        kept = SPLIT_OF[split]
        return self.values[0] * kept[0] + self.values[1] * kept[1] + self.values[2] * kept[2]

    @property
    def offered(self) -> int:
        """What the standing proposal leaves or gives to this seat, by its number; -1: nothing is proposed."""
        if self.standing < 0 or self.by == self.seat:
            return self.standing
        return rest(self.counts, self.standing)


@dataclass(frozen=True)
class Part:
    """What a seat knows from before the first act: names by seat, the pool, its own values, acts at most."""

    seat: int
    names: tuple[str, str]
    counts: Counts
    values: tuple[int, ...]
    most_acts: int

    @property
    def other(self) -> str:
        """Who the other is."""
        return self.names[1 - self.seat]


def rules_in_words(names: tuple[str, str], counts: Counts, most_acts: int) -> str:
    """The task, as both know it."""
    return (
        f"{names[0]} and {names[1]} share out {in_words(counts)}. What an item is worth differs between them; all "
        f"items together are worth {WORTH} points to each, and nobody knows the other's values. By turns, one proposes "
        "what to keep (the rest is the other's), insists on it, agrees, disagrees or ends the talk. After the end, or "
        f"after {most_acts} acts, both take items without seeing what the other takes: if that adds up to all items, "
        "each has the points of what was taken, else both have 0 points."
    )


def values_in_words(values: Sequence[int]) -> str:
    """What single items are worth to one seat.

    >>> values_in_words((3, 1, 0))
    'a book is worth 3 points, a hat 1 point, a ball nothing'
    """
    worth = ["nothing" if value == 0 else f"{value} point{'s' if value > 1 else ''}" for value in values]
    verbs = ("is worth ", "", "")
    return ", ".join(f"a {item} {verb}{points}" for item, verb, points in zip(ITEMS, verbs, worth, strict=True))


@dataclass(frozen=True)
class Wording:
    """How a game is told, and read.

    ``items``: What is shared, in the plural. ``rules``: The task, of names, pool and acts at most; ``values``: what is
    worth what to a seat. ``told``: Of a sentence about books, hats and balls the game's own; ``read``: the other way
    round, of anybody's words.
    """

    items: tuple[str, ...]
    rules: Callable[[tuple[str, str], Counts, int], str]
    values: Callable[[Sequence[int]], str]
    told: Callable[[str], str] = str
    read: Callable[[str], str] = str


BOOKS = Wording(tuple(f"{item}s" for item in ITEMS), rules_in_words, values_in_words)
"""Deal or No Deal's."""


def in_text(part: Part, acts: Sequence[tuple[int, Action]], legal: Sequence[str], wording: Wording = BOOKS) -> str:
    """The observation of a seat.

    ``part``: What it knew before. ``acts``: What was done and heard so far, each with the seat that did it. ``legal``:
    The kinds of acts that the seat may do now; empty when it is not its turn. ``wording``: Of the game.
    """
    rules, values = wording.rules(part.names, part.counts, part.most_acts), wording.values(part.values)
    lines = [rules, f"You are {part.names[part.seat]}. To you, {values}.", "What was done so far:"]
    for number, (seat, act) in enumerate(acts, 1):
        words = f" and said: {data_json(act.text)}" if act.text else ""
        who, did = "You" if seat == part.seat else part.names[seat], wording.told(done(act, part, seat))
        lines.append(f"#{number} {who} {did}{words}")
    if not acts:
        lines.append("nothing yet")
    if SELECT in legal:
        lines.append(f"The talk is over. Take your items now; {part.other} does the same, unseen.")
    elif legal:
        lines.append(f"It is your turn (act {len(acts) + 1} of {part.most_acts} at most). You may: {', '.join(legal)}.")
    return "\n".join(lines)


def done(act: Action, part: Part, seat: int) -> str:
    """An act in words, as the seat of ``part`` reads it, ``seat`` being who did it.

    >>> done(Action("insist", "", [0, 2, 1]), Part(0, ("Alice", "Bob"), (1, 3, 1), (3, 1, 4), 20), 1)
    'insisted on keeping 2 hats and 1 ball (which leaves 1 book and 1 hat to you)'
    """
    if act.data is None:
        return {"agree": "agreed", "disagree": "disagreed", "end": "ended the talk"}[act.kind]
    a, b, c = act.data
    left = (part.counts[0] - a, part.counts[1] - b, part.counts[2] - c)
    to = part.other if seat == part.seat else "you"
    does = "proposed to keep" if act.kind == "propose" else "insisted on keeping"
    return f"{does} {in_words((a, b, c))} (which leaves {in_words(left)} to {to})"


def number_of(act: Action) -> int:
    """The number of an act, or of what is selected (`action_encoding`).

    Raises CodeError: Its data is no split, or is missing, or should be.
    """
    data = act.data
    split = tuple(data) if isinstance(data, list | tuple) else None if data is None else (data,)
    if act.kind == SELECT:
        return split_code(split or ())
    return act_code(act.kind, split)
