"""Bargaining as an environment: offers by turns, until one is accepted, somebody leaves, or the acts are used up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from apportion.environments.environment import Action, AgentAction, Environment, InvalidActionError, Step
from apportion.environments.negotiation.act_parser import parse
from apportion.environments.negotiation.bargaining.realization import (
    ACCEPT,
    KINDS,
    LEAVE,
    OFFER,
    REFUSE,
    Facts,
    in_text,
    limit_in_words,
    rules_in_words,
    sentence,
)
from apportion.environments.negotiation.bargaining.scenario import LEAST_SURPLUS, Bargain
from apportion.environments.negotiation.game import BEHIND, MOST_WORDS
from apportion.environments.negotiation.rules import MOST_ACTS
from apportion.foundation.errors import InputError

NAMES = ("Buyer", "Seller")
MOST_DIGITS = 20
"""A number of so many is no price."""
NEGATION = re.compile(r"\b(not|never|no|cannot)\b|n['’]t\b", re.IGNORECASE)
_HEDGED = re.compile(r"\b(if|nobody)\b|\?", re.IGNORECASE)
BARE = 2
"""So many words name an act and say nothing else."""
_READ = {"agree": ACCEPT, "disagree": REFUSE, "end": LEAVE}
_NUMBER = re.compile(r"\d+")


class Bargaining(Environment):
    """One bargain. The ``data`` of an offer is its price; words are heard and bind nobody.

    Who starts is drawn. The first act is an offer; the standing offer is the last one, which the other may accept until
    another takes its place or it is refused.

    ``bargain``: What is sold, and both limits. ``most_acts``: After which there is no deal. ``names``: Of the buyer and
    the seller. Raises InputError: No act at all, or names that cannot be used.
    """

    kind: ClassVar[str] = "bargaining"
    speeches: ClassVar[frozenset[str]] = frozenset(KINDS)

    def __init__(self, bargain: Bargain, most_acts: int = MOST_ACTS, names: Sequence[str] = NAMES) -> None:
        if most_acts < 1:
            raise InputError(f"{self.kind}: most_acts = {most_acts}; one at least")
        self.bargain, self.most_acts = bargain, most_acts
        super().__init__(names)
        if len(self.agents) != len(NAMES):
            raise InputError(f"{self.kind}: {len(self.agents)} agents; a buyer and a seller bargain")

    def acting(self) -> tuple[str, ...]:
        """One after the other, until it is over."""
        return () if self._ended else (self.agents[self.seat],)

    @property
    def kinds(self) -> tuple[str, ...]:
        """All four."""
        return KINDS

    def legal(self, agent: str) -> tuple[str, ...]:
        """An offer first; then also to refuse and to leave, and to accept where the other's offer stands."""
        if agent not in self.acting():
            return ()
        if not self.done:
            return (OFFER,)
        return tuple(kind for kind in KINDS if kind != ACCEPT or self._offered_to(self.seat) is not None)

    def observe(self, agent: str) -> str:
        """What the side knows, and what was done."""
        return in_text(self.facts(agent), self.legal(agent))

    def facts(self, agent: str) -> Facts:
        """The same as data."""
        seat = self.agents.index(agent)
        limit = (self.bargain.budget, self.bargain.cost)[seat]
        names = (self.agents[0], self.agents[1])
        wording = self.tone * (2 * len(self.done) + 1) >> 8
        return Facts(
            seat, names, self.bargain.thing, self.bargain.list_price, limit, self.done, self._offered_to(seat),
            self.most_acts, wording,
        )  # fmt: skip

    def in_words(self, agent: str, kind: str, text: str) -> Action:
        """The price of an offer is the number in its words; without one, or with several, it has none."""
        numbers = _NUMBER.findall(text) if kind == OFFER else []
        return Action(kind, text, int(numbers[0]) if len(numbers) == 1 and len(numbers[0]) < MOST_DIGITS else None)

    def meant(self, agent: str, text: str) -> Action:
        """The act that the words are, or that stands in brackets behind them (`said`)."""
        told = BEHIND.search(text)
        words, said = (told[1], text[: told.start()].strip()) if told else (text, text)
        seat = self.agents.index(agent)
        ours = (
            kind for kind in KINDS[1:] if any(words == sentence(seat, Action(kind), wording) for wording in range(3))
        )
        named = [kind for kind in KINDS if kind in words.casefold() and not NEGATION.search(words)]
        read = OFFER if _NUMBER.search(words) else _READ.get(parse(words, (1, 1, 1)).kind, "")
        if read != OFFER and REFUSE in named and len(named) > 1:  # "I refuse to accept that."
            read = REFUSE
        # A kind is named in brackets or by itself; in a sentence the number and the other words come first.
        alone = len(named) == 1 and (told is not None or len(words.split()) <= BARE)
        kind = named[0] if alone else read or (named[0] if len(named) == 1 else "")
        if told is None and kind in (ACCEPT, LEAVE) and _HEDGED.search(words):  # "If you go lower I will accept."
            kind = ""
        kind = next(ours, kind)
        return self.in_words(agent, kind, words)._replace(text=said)

    def stand_in(self, agent: str) -> Action:
        """A refusal; as the first act an offer that gains nothing."""
        limit = (self.bargain.budget, self.bargain.cost)[self.agents.index(agent)]
        return Action(REFUSE) if self.done else Action(OFFER, "", min(max(limit, 1), self.bargain.list_price))

    def examples(self, agent: str) -> dict[str, list[str]]:
        """Offers all over the list price."""
        tenth = self.bargain.list_price / 10
        return {OFFER: [str(max(1, round(tenth * part))) for part in range(1, 11)]}

    def outcome(self) -> dict[str, dict[str, float | None]]:
        """By side ``points``, ``advantage``, ``snp`` and ``share``; without a deal 0, and no share.

        ``points`` are the profit in percent of the list price, so that games about cheap and dear things have one
        scale; ``advantage`` is one's own less the other's. ``snp`` is the profit in parts of the surplus, which tables
        add up or average over games; ``share`` the same of games with a deal alone: the side's part of both's gains.
        """
        gained = self.bargain.profits(self.price) if self.price is not None else (0, 0)
        percent, surplus = 100.0 / self.bargain.list_price, self.bargain.surplus
        return {
            name: {
                "points": gained[seat] * percent,
                "advantage": (gained[seat] - gained[1 - seat]) * percent,
                "snp": gained[seat] / surplus,
                "share": None if self.price is None else gained[seat] / surplus,
            }
            for seat, name in enumerate(self.agents)
        }

    def scales(self) -> dict[str, tuple[float, float]]:
        """What prices from 1 to the list price can bring a side."""
        parts = 1 / LEAST_SURPLUS
        return {
            "points": (-100.0, 100.0),
            "advantage": (-200.0, 200.0),
            "snp": (-parts, parts),
            "share": (-parts, parts),
        }

    def said(self, move: AgentAction) -> str | None:
        """An act's words, with the act in brackets where they may not say it: another number, or words not of ours."""
        act, seat = move.act.plain, self.agents.index(move.agent)
        plain, words = sentence(seat, act._replace(text="")), act.text.strip()
        if not words:
            return plain
        ours = any(words == sentence(seat, act, wording) for wording in range(3))
        named = act.kind == OFFER and _NUMBER.findall(words) == [str(act.data)]
        return words if ours or named else f"{words} [{plain}]"

    def backgrounds(self) -> list[tuple[str | None, str, str]]:
        """The rules for both; its limit for each side alone."""
        names = (self.agents[0], self.agents[1])
        rules = rules_in_words(names, self.bargain.thing, self.bargain.list_price, self.most_acts)
        limits = (self.bargain.budget, self.bargain.cost)
        goals = [
            (name, "goal", f"You are {name}; {limit_in_words(seat, limits[seat])}") for seat, name in enumerate(names)
        ]
        return [(None, "rules", rules), *goals]

    def _begin(self) -> None:
        self.starter = self.seat = self.chance.draws.randrange(len(NAMES))
        self.tone = self.chance.draws.getrandbits(31)
        self.done: list[tuple[int, Action]] = []
        self.price: int | None = None
        self._standing: tuple[int, int] | None = None
        self._ended = False

    def _own(self) -> None:
        self.done = self.done.copy()

    def _offered_to(self, seat: int) -> int | None:
        return self._standing[1] if self._standing is not None and self._standing[0] != seat else None

    def _check(self, agent: str, act: Action) -> None:
        if len(act.text) > MOST_WORDS:
            raise InvalidActionError(
                f"{agent!r} says {len(act.text):,} characters at once; at most {MOST_WORDS:,} are an act"
            )
        if act.kind != OFFER:
            if act.data is not None:
                raise InvalidActionError(
                    f"{agent!r} may not {act.kind} with {act.data!r:.40}: only an offer has a price"
                )
        elif type(act.data) is not int or not 1 <= act.data <= self.bargain.list_price:
            raise InvalidActionError(
                f"{agent!r} offers {act.data!r:.40}: a whole number from 1 to {self.bargain.list_price} is a price"
            )

    def _apply(self, moves: Step) -> None:
        (move,) = moves
        act = move.act
        if act.kind == OFFER:
            self._standing = (self.seat, act.data)
        elif act.kind == ACCEPT:
            self.price = self._offered_to(self.seat)
        elif act.kind == REFUSE and self._offered_to(self.seat) is not None:
            self._standing = None
        self.done.append((self.seat, act))
        self.seat = 1 - self.seat
        self._ended = act.kind in (ACCEPT, LEAVE) or len(self.done) >= self.most_acts
