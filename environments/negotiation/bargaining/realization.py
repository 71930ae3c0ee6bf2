"""Bargaining in words: the sentence of an act, and what a side knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from apportion.environments.actions import Action
from apportion.environments.negotiation.bargaining.scenario import BUYER
from apportion.llm_client.prompts.data import data_json

OFFER, ACCEPT, REFUSE, LEAVE = KINDS = ("offer", "accept", "refuse", "leave")
ROLES = ("buyer", "seller")
_OFFERS = (
    ("I can pay {price}.", "How about {price}?", "My offer is {price}."),
    ("I can let it go for {price}.", "How about {price}?", "My price is {price}."),
)
_OTHERS = {
    ACCEPT: ("Deal.", "That is fine with me, we have a deal.", "I accept that."),
    REFUSE: ("No, I can't do that.", "That does not work for me.", "Sorry, no."),
    LEAVE: ("Then I have to leave it.", "We won't come together; goodbye.", "No deal, thank you."),
}


class Facts(NamedTuple):
    """What a side knows, as data: its seat, what is sold, its own limit alone, and what was done, each with its seat.

    ``standing`` is the other's offer that may be accepted now, None without one; ``wording`` a number of this step.
    """

    seat: int
    names: tuple[str, str]
    thing: str
    list_price: int
    limit: int
    acts: Sequence[tuple[int, Action]]
    standing: int | None
    most_acts: int
    wording: int

    @property
    def own(self) -> list[int]:
        """What this side has offered, in order."""
        return [act.data for seat, act in self.acts if seat == self.seat and act.kind == OFFER]

    def profit(self, price: int) -> int:
        """What this side gains by a price."""
        return self.limit - price if self.seat == BUYER else price - self.limit


def sentence(seat: int, act: Action, wording: int = 0) -> str:
    """An act in words; the same ``wording`` gives the same.

    >>> sentence(0, Action("offer", "", 30)), sentence(1, Action("accept"), 2)
    ('I can pay 30.', 'I accept that.')
    """
    words = _OFFERS[seat] if act.kind == OFFER else _OTHERS[act.kind]
    return words[wording % len(words)].format(price=act.data)


def rules_in_words(names: tuple[str, str], thing: str, list_price: int, most_acts: int) -> str:
    """The task, as both know it."""
    return (
        f"{names[0]} wants to buy {thing} from {names[1]}; elsewhere it costs {list_price}. By turns, one offers a "
        f"price in whole numbers, 1 to {list_price}, accepts the other's, refuses it, or leaves. Nobody gets anything "
        f"without a deal within {most_acts} acts. The buyer has a budget and the seller a cost, which the other does "
        "not know."
    )


def limit_in_words(seat: int, limit: int) -> str:
    """What only one side knows."""
    if seat == BUYER:
        return f"your budget is {limit}: what you pay less is your gain, what you pay more your loss."
    return f"your cost is {limit}: what you get beyond it is your gain, what you get less your loss."


def done(act: Action) -> str:
    """An act, behind who did it.

    >>> done(Action("offer", "", 30)), done(Action("leave"))
    ('offered 30', 'left')
    """
    if act.kind == OFFER:
        return f"offered {act.data}"
    return {ACCEPT: "accepted", REFUSE: "refused"}.get(act.kind, "left")


def in_text(facts: Facts, legal: Sequence[str]) -> str:
    """The observation of a side; what the other said stands as JSON text, so that it cannot pose as anything else."""
    lines = [
        rules_in_words(facts.names, facts.thing, facts.list_price, facts.most_acts),
        f"You are {facts.names[facts.seat]}, the {ROLES[facts.seat]}; {limit_in_words(facts.seat, facts.limit)}",
        "What was done so far:" if facts.acts else "Nothing was done so far.",
    ]
    for number, (seat, act) in enumerate(facts.acts, 1):
        who = "You" if seat == facts.seat else facts.names[seat]
        said = f" and said: {data_json(act.text)}" if act.text else ""
        lines.append(f"#{number} {who} {done(act)}{said}")
    if legal:
        lines.append(f"It is your turn (act {len(facts.acts) + 1} of {facts.most_acts}). You may: {', '.join(legal)}.")
    return "\n".join(lines)
