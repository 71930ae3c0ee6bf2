"""Avalon as an environment: proposals, rounds of discussion, votes, quests, and one last shot (Appendix A.2).

The rules are those of `rules`. A discussion lies between every proposal and its vote, each player speaking once in the
order of the seats, as in Figure 13; A.2 says "between other phases". Proposals, votes and the last shot are public;
the cards of a quest are secret, and only their numbers become known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from random import Random
from typing import ClassVar

from apportion.environments.deduction.avalon.cast import EVIL_ROLES, NAMES, Deal, seen_by
from apportion.environments.deduction.avalon.observation import (
    APPROVE,
    FAIL,
    MEANINGS,
    NAME,
    NIGHT,
    PASS,
    PROPOSE,
    REJECT,
    RESULT,
    SHOT,
    WENT,
    night_in_words,
    players_in_words,
    possible_deals,
    role_in_words,
    rules_in_words,
)
from apportion.environments.deduction.avalon.rules import (
    EVIL,
    GOOD,
    OVER,
    QUEST,
    REJECTIONS,
    TEAM,
    VOTE,
    Game,
    Options,
)
from apportion.environments.deduction.avalon.rules import SHOT as LAST
from apportion.environments.deduction.base_game import Deduction
from apportion.environments.deduction.deals import all_deals
from apportion.environments.deduction.events import Aim, Stage
from apportion.environments.deduction.games import GameKind, roster_of
from apportion.environments.deduction.observation import PrivateInformation
from apportion.foundation.errors import InputError

DISCUSSION, LEAD = "discussion", "leads"
_FIVE = Options()
_VOTES: Mapping[str, tuple[Aim, ...]] = {APPROVE: (), REJECT: ()}
_GOOD_CARDS: Mapping[str, tuple[Aim, ...]] = {PASS: ()}
_EVIL_CARDS: Mapping[str, tuple[Aim, ...]] = {PASS: (), FAIL: ()}


class Avalon(Deduction):
    """One game. A proposal's ``data`` is the list of who goes; the last shot's who is named.

    ``rules``: What is played. ``deal``: The roles by seat; drawn without it. Who leads first is always drawn. Raises
    InputError: The deal is no order of the options' roles.
    """

    kind: ClassVar[str] = "avalon"
    teams: ClassVar[Mapping[str, str]] = {role: EVIL if role in EVIL_ROLES else GOOD for role in NAMES}
    meanings: Mapping[str, str] = MEANINGS

    def __init__(self, rules: Options = _FIVE, deal: Deal | None = None) -> None:
        if deal is not None and sorted(deal) != sorted(rules.roles):
            raise InputError(f"avalon: {', '.join(deal)} is no order of the roles {', '.join(rules.roles)}")
        super().__init__(len(rules.roles), rules, deal)

    @property
    def most_steps(self) -> int:
        """Every quest with all its proposals, each with its speeches and its vote, and the last shot."""
        rules: Options = self.rules
        return len(rules.sizes) * (rules.proposals * (2 + len(rules.roles)) + 1) + 1

    def most_acts(self, seat: int) -> int:
        """For each proposal one of its own at most, a speech and a vote; a card of each quest, and a shot."""
        rules: Options = self.rules
        proposals = len(rules.sizes) * rules.proposals
        return proposals * 2 + -(-proposals // len(rules.roles)) + len(rules.sizes) + 1

    def rules_in_words(self) -> str:
        """`observation.rules_in_words`."""
        return rules_in_words(self.rules)

    def role_in_words(self, seat: int) -> str:
        """The seat and its role."""
        return f"You are Player {seat}. {role_in_words(self.deal[seat - 1], self.rules.roles)}"

    @staticmethod
    def words(kind: str, aim: Aim) -> str:
        """An act as something done."""
        if kind == PROPOSE:
            return f"proposed {players_in_words(aim)}"
        if kind == NAME:
            return f"named Player {aim} as Merlin"
        if kind in (PASS, FAIL):
            return "let the quest pass" if kind == PASS else "failed the quest"
        return "voted for the team" if kind == APPROVE else "voted against the team"

    @staticmethod
    def fits(facts: PrivateInformation) -> Sequence[Deal]:
        """`observation.possible_deals`."""
        return possible_deals(facts)

    def _dealt(self, draws: Random) -> Deal:
        # Who leads first is drawn with the deal, so that a deal that is given changes nothing else.
        self._first = draws.randrange(len(self.rules.roles))
        return draws.choice(all_deals(self.rules.roles))

    def _open(self) -> None:
        self.game = Game(self.rules, self.deal, self._first)
        self._at = Stage(NIGHT)
        for seat, role in enumerate(self.deal, 1):
            seen = seen_by(self.deal, seat - 1)
            if seen is not None:
                seats = _from_one(sorted(seen))
                self.tell(NIGHT, night_in_words(seat, role, seats), seats, (seat,))
        self._arrive()
        self.tell(LEAD, self._leads())

    def _copied(self) -> None:
        self.game = self.game.copy()

    def _stage(self) -> Stage:
        return Stage(DISCUSSION, self._at.round) if self._queue else self._at

    def _arrive(self) -> None:
        game = self.game
        self._at = Stage(game.phase, 0 if game.phase in (LAST, OVER) else game.number + 1)

    def _acting(self) -> tuple[int, ...]:
        return _from_one(self.game.acting())

    def _alive(self) -> tuple[int, ...]:
        return tuple(range(1, len(self.deal) + 1))

    def _speakers(self) -> tuple[int, ...]:
        return self._alive() if self.game.phase == VOTE else ()

    def _public(self) -> bool:
        return self.game.phase != QUEST

    def _choices(self, seat: int) -> Mapping[str, tuple[Aim, ...]]:
        game = self.game
        if game.phase == TEAM:
            return {PROPOSE: _teams(len(self.deal), game.size)}
        if game.phase == VOTE:
            return _VOTES
        if game.phase == QUEST:
            return _EVIL_CARDS if seat - 1 in game.evil else _GOOD_CARDS
        return {NAME: tuple(one for one in self._alive() if one != seat)}

    def _default(self, seat: int) -> tuple[str, Aim]:
        game, players = self.game, len(self.deal)
        following = [(seat - 1 + step) % players for step in range(players)]
        if game.phase == TEAM:
            return PROPOSE, _from_one(sorted(following[: game.size]))
        if game.phase in (VOTE, QUEST):
            return (REJECT if game.phase == VOTE else PASS), None
        known = seen_by(self.deal, seat - 1) or ()
        return NAME, next(one for one in following if one not in known) + 1

    def _do(self, acts: Mapping[int, tuple[str, Aim]]) -> None:
        done, game = self.game.phase, self.game
        if done == TEAM:
            ((_, aim),) = acts.values()
            game.propose([one - 1 for one in aim])
        elif done == VOTE:
            goes = game.vote([kind == APPROVE for kind, _ in acts.values()])
            self.tell(RESULT, self._result(sum(kind == APPROVE for kind, _ in acts.values()), goes), goes)
        elif done == QUEST:
            fails = game.quest([kind == PASS for kind, _ in acts.values()])
            self.tell(WENT, self._went(fails), (_from_one(game.team), fails))
        else:
            ((assassin, (_, aim)),) = acts.items()
            hit = game.shoot(aim - 1)
            said = "is Merlin: evil wins" if hit else "is not Merlin: good wins"
            self.tell(SHOT, f"Player {assassin} is the Assassin, and Player {aim} {said}.", (assassin, aim, hit))
        self._arrive()

    def _won(self, seat: int) -> bool:
        return self.game.winner == self.teams[self.deal[seat - 1]]

    def _leads(self) -> str:
        game: Game = self.game
        options: Options = self.rules
        return (
            f"Player {game.leader + 1} leads: team {game.rejected + 1} of at most {options.proposals} for quest "
            f"{game.number + 1}, with {game.size} players."
        )

    def _result(self, approving: int, goes: bool) -> str:
        of = f"{approving} of {len(self.deal)} votes are for the team"
        if goes:
            strict = 2 * approving > len(self.deal)
            return f"{of}: it goes{'' if strict else ', as the last one of this quest does'}."
        if self.game.ending == REJECTIONS:
            return f"{of}, the last one of this quest: evil wins."
        return f"{of}: it does not go. {self._leads()}"

    def _went(self, fails: int) -> str:
        game: Game = self.game
        passed, failed = game.passed, game.failed
        lost = fails >= self.rules.fails(passed + failed - 1)
        cards = f"{len(game.team) - fails} let quest {passed + failed} pass and {fails} failed it"
        so_far = f"it {'failed' if lost else 'passed'}. So far {passed} passed and {failed} failed"
        if game.phase == OVER:
            return f"{cards}: {so_far}: evil wins."
        if game.phase == LAST:
            return f"{cards}: {so_far}. The Assassin names one player as Merlin."
        return f"{cards}: {so_far}. {self._leads()}"


def _from_one(seats: Sequence[int]) -> tuple[int, ...]:
    return tuple(seat + 1 for seat in seats)


@lru_cache(maxsize=64)
def _teams(players: int, size: int) -> tuple[tuple[int, ...], ...]:
    return tuple(combinations(range(1, players + 1), size))


GAME = GameKind(
    Avalon,
    Options,
    Avalon,
    roster_of(
        Avalon.kind,
        {
            "claims": "apportion.environments.deduction.avalon.scripts:Claims",
            "bayes": "apportion.environments.deduction.avalon.scripts:Bayesian",
            "strategist": "apportion.environments.deduction.avalon.strategist:Strategist",
        },
    ),
)
SIMULATOR = GAME.simulator
