"""What a person who bargains reads, and can type: a price, or any words that are an act."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.bargaining.game import NAMES, NEGATION
from apportion.environments.negotiation.bargaining.realization import (
    ACCEPT,
    LEAVE,
    OFFER,
    REFUSE,
    ROLES,
    Facts,
    done,
    limit_in_words,
    rules_in_words,
)
from apportion.environments.negotiation.text_rendering import SAY, PairRenderer
from apportion.environments.terminal.console import LineError
from apportion.environments.terminal.human_agent import Command, Rendered

MOST_DIGITS = 9
"""Of a price that is typed."""
_COMPLAINT = re.compile(r"\b(too|much|(high|low|cheap)(er)?|little|expensive|costly|price?y|steep)\b", re.IGNORECASE)
"""Words about a price that is not offered: "150 is far too expensive"."""


class BargainingRenderer(PairRenderer):
    """Of what `Bargaining.facts` gives a side."""

    names = NAMES
    acts: Mapping[str, Command] = {
        OFFER: Command(OFFER, "offer a price, which the other may accept", "PRICE"),
        ACCEPT: Command(ACCEPT, "accept the other's offer: that is the deal"),
        REFUSE: Command(REFUSE, "refuse, and go on"),
        LEAVE: Command(LEAVE, "leave without a deal"),
    }
    such_as = "How about 30?"

    def opening(self, view: Observation) -> list[Rendered]:
        """The rules, what is sold, and the person's own limit."""
        facts: Facts = view.facts
        rules = rules_in_words(facts.names, facts.thing, facts.list_price, facts.most_acts)
        limit = limit_in_words(facts.seat, facts.limit)
        return [Rendered("The rules: ", rules), Rendered(f"You are the {ROLES[facts.seat]}; ", limit)]

    def heard(self, view: Observation) -> Sequence[tuple[int, Action]]:
        """All acts."""
        facts: Facts = view.facts
        return facts.acts

    def done(self, view: Observation, seat: int, act: Action) -> str:
        """What was offered, accepted, refused; or that somebody left."""
        return done(act)

    def understood(self, view: Observation, act: Action) -> Action:
        """The act of a command's words, or of own words.

        An offer binds: words with a number that refuse something, complain, or repeat what the other offers may be
        none. Raises LineError: They are no act, or hold no price.
        """
        if act.kind == SAY:
            meant = view.meant(act.text)
            if not meant.kind:
                raise LineError("that is no act: say a price, accept, refuse, or leave; /help lists commands")
            unclear = meant.data in (None, view.facts.standing) or NEGATION.search(act.text)
            if meant.kind == OFFER and (unclear or _COMPLAINT.search(act.text)):
                how = f"/{OFFER} PRICE, /{ACCEPT} or /{REFUSE}"
                raise LineError(f"is that an offer, and of which price? Say it as {how}")
            return meant
        if act.kind != OFFER:
            return act
        if not (act.text.isascii() and act.text.isdecimal() and len(act.text) <= MOST_DIGITS):
            raise LineError(f"one whole number is needed, the price, as /{OFFER} 30")
        return Action(OFFER, "", int(act.text))
