"""What Strategist searches of Avalon: every act but speech, which is the guide's (`Bayesian`)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from random import Random
from typing import Any, ClassVar

import numpy as np

from apportion.environments.deduction.avalon.cast import HOLD_EVIL, MERLIN, Deal
from apportion.environments.deduction.avalon.observation import (
    APPROVE,
    FAIL,
    PASS,
    PROPOSE,
    REJECT,
    RESULT,
    WENT,
    evidence_of,
    rounds_of,
)
from apportion.environments.deduction.avalon.posterior import posterior
from apportion.environments.deduction.avalon.role_assignments import table_of
from apportion.environments.deduction.avalon.rules import EVIL, GOOD, QUEST, SHOT, TEAM, VOTE, Game, evil_seats
from apportion.environments.deduction.avalon.scripts import Bayesian, as_a_servant
from apportion.environments.deduction.events import SPEAK
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.deduction.scripts import aimed
from apportion.environments.deduction.tree_search import Root, TreeSearch
from apportion.environments.environment import Action, Observation

WISE, FOUND, BLAME = 0.85, 0.4, 0.4
"""Habits of others: good players vote by suspicion, the Assassin finds Merlin, a failed quest's blame for its team."""
_PHASES = {PROPOSE: TEAM, APPROVE: VOTE, PASS: QUEST}
_MOVES: Mapping[str, Any] = {APPROVE: True, REJECT: False, PASS: True, FAIL: False}


@lru_cache(maxsize=64)
def teams_of(players: int, size: int) -> Sequence[tuple[int, ...]]:
    """Every team of so many players, seats from 0."""
    return tuple(combinations(range(players), size))


class AvalonPosition:
    """A game under one deal, and how far each seat is suspected to be evil by whoever knows nothing."""

    def __init__(self, game: Game, suspected: Sequence[float]) -> None:
        self.game, self.suspected = game, list(suspected)

    @property
    def winner(self) -> str | None:
        """The team that has won."""
        return self.game.winner

    def acting(self) -> Sequence[int]:
        """The seats that act now, from 1."""
        return [seat + 1 for seat in self.game.acting()]

    def moves(self, seat: int) -> Sequence[Any]:
        """Teams of seats from 0, votes and cards, or whom the Assassin names."""
        game = self.game
        if game.phase == TEAM:
            return teams_of(len(game.deal), game.size)
        if game.phase == SHOT:
            return [one for one in range(len(game.deal)) if one not in game.evil]
        return (True, False) if game.phase == VOTE or seat - 1 in game.evil else (True,)

    def habit(self, seat: int, draws: Random) -> Any:
        """Merlin and evil players by what they know, others by suspicion."""
        game, mine = self.game, seat - 1
        role, evil = game.deal[mine], mine in game.evil
        if game.phase == TEAM:
            return self._team(mine, draws)
        if game.phase == VOTE:
            if evil:
                return not game.evil.isdisjoint(game.team)
            if role == MERLIN:
                wise = game.evil.isdisjoint(game.team)
            else:
                limit = sum(self.suspected) / len(self.suspected) * len(game.team)
                wise = sum(self.suspected[one] for one in game.team if one != mine) <= limit
            return wise == (draws.random() < WISE)
        if game.phase == QUEST:
            return not evil or draws.random() > 0.9
        merlin = game.deal.index(MERLIN)
        return merlin if draws.random() < FOUND else draws.choice([one for one in self.moves(seat) if one != merlin])

    def _team(self, mine: int, draws: Random) -> Sequence[int]:
        game = self.game
        others = [one for one in range(len(game.deal)) if one != mine]
        draws.shuffle(others)
        if game.deal[mine] in HOLD_EVIL:  # Whoever knows evil players takes none of them along.
            others.sort(key=lambda one: (one in game.evil) + self.suspected[one])
        else:
            others.sort(key=lambda one: self.suspected[one])
        return (mine, *others[: game.size - 1])

    def do(self, moves: Mapping[int, Any], draws: Random) -> None:
        """By the rules; a failed quest is blamed on its team."""
        game = self.game
        if game.phase == TEAM:
            (team,) = moves.values()
            game.propose(team)
        elif game.phase == VOTE:
            game.vote([*moves.values()])
        elif game.phase == SHOT:
            (target,) = moves.values()
            game.shoot(target)
        elif fails := game.quest([*moves.values()]):
            for one in game.team:
                self.suspected[one] += BLAME * fails / len(game.team)

    def seen(self) -> Hashable:
        """What all see."""
        game = self.game
        return game.phase, game.number, game.passed, game.rejected, game.leader, game.team

    def key(self) -> str:
        """Where a team is to be proposed: the quests, the leader's side, and how many evil players seem to be."""
        game = self.game
        if game.phase != TEAM:
            return ""
        order = sorted(range(len(game.deal)), key=lambda one: -self.suspected[one])[: len(game.evil)]
        known = len(game.evil.intersection(order))
        return f"{game.passed}-{game.failed} {'evil' if game.leader in game.evil else 'good'} {known}"


def position_of(facts: PrivateInformation, deal: Deal) -> AvalonPosition:
    """Where the game stands, as a player knows it, under a deal."""
    rounds, options = rounds_of(facts), facts.rules
    leads = rounds[-1].leader if rounds else facts.seat - 1
    phase = next((_PHASES[kind] for kind in facts.choices if kind in _PHASES), SHOT)
    game = Game(options, deal, facts.seat - 1 if phase == TEAM else (leads + (phase != VOTE)) % len(deal))
    for event in facts.events:
        if event.kind == RESULT:
            game.rejected = 0 if event.data else game.rejected + 1
        elif event.kind == WENT:
            lost = event.data[1] >= options.fails(game.number)
            game.passed, game.failed = game.passed + (not lost), game.failed + lost
    game.phase, game.team = phase, rounds[-1].team if rounds else ()
    return AvalonPosition(game, as_a_servant(facts))


class Strategist(TreeSearch):
    """Strategist of Avalon."""

    teams: ClassVar[tuple[str, str]] = (GOOD, EVIL)

    def root(self, view: Observation) -> Root | None:
        """Every act but speech."""
        facts: PrivateInformation = view.facts
        if SPEAK in facts.choices:
            return None
        roles = facts.rules.roles
        chances = posterior(roles, evidence_of(facts), rounds_of(facts))
        numbers = np.flatnonzero(chances)
        deals = [table_of(roles).deals[one] for one in numbers]
        pairs = [(kind, aim) for kind, aims in facts.choices.items() for aim in aims or (None,)]
        moves = [_move(kind, aim) for kind, aim in pairs]
        start = position_of(facts, deals[0])

        def at(deal: Deal, number: int) -> AvalonPosition:
            game = start.game.copy()
            game.deal, game.evil = deal, evil_seats(deal)
            return AvalonPosition(game, start.suspected)

        return Root([aimed(kind, aim) for kind, aim in pairs], moves, deals, chances[numbers].tolist(), at)

    def valued(self, facts: PrivateInformation, deal: Deal) -> str:
        """Where somebody is about to propose."""
        return position_of(facts, deal).key() if PROPOSE in facts.choices else ""

    def speech(self, view: Observation) -> Action:
        """The guide's: what a Servant in this seat would believe."""
        return Bayesian().act(view)


def _move(kind: str, aim: Any) -> Any:
    if kind in _MOVES:
        return _MOVES[kind]
    return tuple(one - 1 for one in aim) if isinstance(aim, tuple) else aim - 1
