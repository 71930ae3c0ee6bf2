"""One Night Ultimate Werewolf as an environment (Stackelberg Speaker, Appendix A.3): a night, a talk, a vote.

Those who choose at night do so in one step: nobody is shown anything before all have chosen, which changes nothing,
because no choice depends on another's, and hides how many of them play. What they chose is then done in A.3's order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import ClassVar

from apportion.environments.deduction.base_game import Deduction
from apportion.environments.deduction.events import VOTE, Aim, Deal, Stage, called
from apportion.environments.deduction.games import GameKind, roster_of
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.deduction.onuw.observation import (
    CENTRES,
    LOOK,
    MEANINGS,
    ROB,
    SEEN,
    SWAP,
    act_in_words,
    lived,
    role_in_words,
    rules_in_words,
    seen_in_words,
    vote_in_words,
)
from apportion.environments.deduction.onuw.rules import (
    CENTRE,
    CHOOSING,
    PLAYERS,
    ROBBER,
    ROLES,
    SEER,
    TROUBLEMAKER,
    Choice,
    ClaimedHistory,
    Night,
    Options,
    all_deals,
    at_night,
    check_deal,
    choices_of,
    dead,
    fitting_deals,
    team_of,
    winner,
)

NIGHT, DISCUSSION, VOTING, END = "night", "discussion", "vote", "end"
KILLED = "killed"
"""The kind of event that tells who dies; its data are the dead, each with the card that it shows."""
_SEATS = tuple(range(1, PLAYERS + 1))


class OneNight(Deduction):
    """One game of five players; the cards of the centre stand behind theirs in a deal.

    ``rules``: What sources differ in. ``deal``: The cards by place; None: drawn when the game begins, each of the 1,800
    as probable as the others. Raises InputError: Other cards than the game's seven, or the Werewolf in the centre.
    """

    kind: ClassVar[str] = "onuw"
    teams: ClassVar[Mapping[str, str]] = {role: team_of(role) for role in ROLES}
    meanings: Mapping[str, str] = MEANINGS

    def __init__(self, rules: Options | None = None, deal: Deal | None = None) -> None:
        if deal is not None:
            check_deal(deal)
        super().__init__(PLAYERS, rules or Options(), deal)

    @property
    def most_steps(self) -> int:
        """The night, everybody's speeches, the vote."""
        return 2 + PLAYERS * int(self.rules.rounds)

    def most_acts(self, seat: int) -> int:
        """The night, where its card acts in it, the speeches and the vote."""
        return 2 + int(self.rules.rounds)

    def follower(self, step: int) -> str | None:
        """As `Deduction.follower`; who speaks last in a round has none, whoever begins the next."""
        following = super().follower(step)
        return None if following == called(_SEATS[0]) else following

    def role_of(self, seat: int) -> str:
        """The card that a seat knows to have been its own last."""
        return self._last[seat - 1]

    def team_at_end(self, seat: int) -> str:
        """That of the card which lies before a seat after the night."""
        return team_of(self._night.cards[seat - 1])

    @staticmethod
    def words(kind: str, aim: Aim) -> str:
        """An act as something done."""
        return act_in_words(kind, aim)

    def rules_in_words(self) -> str:
        """The rules, as all know them."""
        return rules_in_words(self.rules)

    def role_in_words(self, seat: int) -> str:
        """The card that a seat was dealt, and what it is for."""
        return role_in_words(seat, self.deal[seat - 1])

    @staticmethod
    def fits(facts: PrivateInformation) -> Sequence[Deal]:
        """The deals in which a player can have lived through its night, and the dead end with the cards they show."""
        shown = tuple((seat - 1, card) for event in facts.events if event.kind == KILLED for seat, card in event.data)
        return _fitting(facts.seat - 1, lived(facts), shown, facts.phase == NIGHT)

    def _dealt(self, draws: Random) -> Deal:
        return draws.choice(all_deals())

    def _open(self) -> None:
        self._phase = NIGHT
        self._night = Night(self.deal, ((),) * PLAYERS)
        self._last = self.deal[:PLAYERS]
        self._killed: tuple[int, ...] = ()

    def _copied(self) -> None:
        """Nothing of its own is changed in place."""

    def _stage(self) -> Stage:
        if self._phase == DISCUSSION and self._queue:
            return Stage(DISCUSSION, int(self.rules.rounds) - (len(self._queue) - 1) // PLAYERS)
        return Stage(VOTING if self._phase == DISCUSSION else self._phase)

    def _acting(self) -> tuple[int, ...]:
        if self._phase == NIGHT:
            return tuple(seat for seat in _SEATS if self.deal[seat - 1] in CHOOSING)
        return () if self._phase == END else _SEATS

    def _alive(self) -> tuple[int, ...]:
        return tuple(seat for seat in _SEATS if seat - 1 not in self._killed)

    def _speakers(self) -> tuple[int, ...]:
        return () if self._phase == NIGHT else _SEATS * int(self.rules.rounds)

    def _choices(self, seat: int) -> Mapping[str, tuple[Aim, ...]]:
        return _at_night(self.deal[seat - 1], seat) if self._phase == NIGHT else _BALLOTS[seat]

    def _default(self, seat: int) -> tuple[str, Aim] | None:
        return (next(iter(self._choices(seat))), 0)

    def _public(self) -> bool:
        return self._phase != NIGHT

    def _do(self, acts: Mapping[int, tuple[str, Aim]]) -> None:
        if self._phase == NIGHT:
            self._dawn({self.deal[seat - 1]: _choice(*act) for seat, act in acts.items()})
        else:
            self._count_votes([acts[seat][1] - 1 if acts[seat][1] else None for seat in _SEATS])

    def _dawn(self, choices: Mapping[str, Choice]) -> None:
        self._night = at_night(self.deal, choices)
        for seat in _SEATS:
            role, seen = self.deal[seat - 1], self._night.seen[seat - 1]
            choice = choices.get(role, ()) if role in CHOOSING else ()
            known = ClaimedHistory(role, choice, tuple(sorted(seen)))
            if seen:
                self.tell(SEEN, seen_in_words(known), known.seen, (seat,))
            self._last = (*self._last[: seat - 1], known.last, *self._last[seat:])
        self._phase = DISCUSSION

    def _count_votes(self, votes: Sequence[int | None]) -> None:
        self._killed = dead(votes, self.rules)
        shown = {seat + 1: self._night.cards[seat] for seat in self._killed}
        won = winner(self._night.cards, self._killed)
        self.tell(KILLED, vote_in_words(shown, won), tuple(sorted(shown.items())))
        self._phase = END

    def _won(self, seat: int) -> bool:
        return self.team_at_end(seat) == winner(self._night.cards, self._killed)


def _choice(kind: str, aim: Aim) -> Choice:
    """What an act chooses, by places."""
    if kind == CENTRES:
        return CENTRE
    if not aim:
        return ()
    return (aim[0] - 1, aim[1] - 1) if kind == SWAP else (aim - 1,)


@lru_cache
def _at_night(role: str, seat: int) -> Mapping[str, tuple[Aim, ...]]:
    """By kind of act what a card allows at night."""
    aims = [tuple(place + 1 for place in choice) for choice in choices_of(role, seat - 1) if choice]
    if role == SEER:
        return {LOOK: (0, *[aim[0] for aim in aims if len(aim) == 1]), CENTRES: ()}
    if role == ROBBER:
        return {ROB: (0, *[aim[0] for aim in aims])}
    return {SWAP: (0, *aims)} if role == TROUBLEMAKER else {}


_BALLOTS = {seat: {VOTE: (0, *[other for other in _SEATS if other != seat])} for seat in _SEATS}


@lru_cache(maxsize=1024)
def _fitting(
    seat: int, known: ClaimedHistory, shown: tuple[tuple[int, str], ...], before_the_night: bool
) -> tuple[Deal, ...]:
    if before_the_night:
        return tuple(deal for deal in all_deals() if deal[seat] == known.role)
    return tuple(fitting_deals(seat, known, shown))


GAME = GameKind(
    OneNight,
    Options,
    OneNight,
    roster_of(
        OneNight.kind,
        {
            "claims": "apportion.environments.deduction.onuw.scripts:Claiming",
            "bayes": "apportion.environments.deduction.onuw.scripts:Bayesian",
            "rl-ins": "apportion.environments.deduction.chooser:RL_INS",
        },
    ),
)
SIMULATOR = GAME.simulator
