"""What Strategist searches of Avalon: every act but speech, which is the guide's (`Bayesian`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, ClassVar

import numpy as np

from apportion.environments.deduction.act_search import ActSearch, Root
from apportion.environments.deduction.avalon.cast import HOLD_EVIL, MERLIN, Deal
from apportion.environments.deduction.avalon.observation import (
    APPROVE,
    PASS,
    PROPOSE,
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
from apportion.environments.environment import Action, Observation

WISE, FOUND, BLAME = 0.85, 0.4, 0.4
"""Habits of others: good players vote by suspicion, the Assassin finds Merlin, a failed quest's blame for its team."""


class AvalonPosition:
    """A game under one deal, and how far each seat is suspected to be evil by whoever knows nothing."""

    def __init__(self, game: Game, suspected: Sequence[float]) -> None:
        self.game, self.suspected = game, list(suspected)

    def habit(self, seat: int, draws: Random) -> Any:
        """Merlin and evil players by what they know, others by suspicion."""
        game, held = self.game, self.suspected
        if game.phase == TEAM:
            others = [one for one in range(len(game.deal)) if one != seat]
            draws.shuffle(others)
            knows = game.deal[seat] in HOLD_EVIL  # Whoever knows evil players takes none of them along.
            others.sort(key=lambda one: (knows and one in game.evil) + held[one])
            return (seat, *others[: game.size - 1])
        if game.phase == VOTE:
            clean = game.evil.isdisjoint(game.team)
            if seat in game.evil:
                return not clean
            if game.deal[seat] != MERLIN:
                clean = sum(held[one] for one in game.team if one != seat) <= sum(held) / len(held) * len(game.team)
            return clean == (draws.random() < WISE)
        if game.phase == QUEST:
            return seat not in game.evil or draws.random() > 0.9
        merlin = game.deal.index(MERLIN)
        good = [one for one in range(len(game.deal)) if one not in game.evil and one != merlin]
        return merlin if draws.random() < FOUND else draws.choice(good)

    def do(self, moves: Mapping[int, Any], draws: Random) -> None:
        """By the rules; a failed quest is blamed on its team."""
        game, done = self.game, [*moves.values()]
        if game.phase == TEAM:
            game.propose(done[0])
        elif game.phase == VOTE:
            game.vote(done)
        elif game.phase == SHOT:
            game.shoot(done[0])
        elif fails := game.quest(done):
            for one in game.team:
                self.suspected[one] += BLAME * fails / len(game.team)

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
    rounds, options, phase = rounds_of(facts), facts.rules, facts.phase
    game = Game(options, deal, facts.seat - 1)
    if phase != TEAM:
        game.leader, game.team = (rounds[-1].leader + (phase != VOTE)) % len(deal), rounds[-1].team
    for event in facts.events:
        if event.kind == RESULT:
            game.rejected = 0 if event.data else game.rejected + 1
        elif event.kind == WENT:
            lost = event.data[1] >= options.fails(game.number)
            game.passed, game.failed = game.passed + (not lost), game.failed + lost
    game.phase = phase
    return AvalonPosition(game, as_a_servant(facts))


class Strategist(ActSearch):
    """Strategist of Avalon."""

    teams: ClassVar[tuple[str, str]] = (GOOD, EVIL)

    def root(self, view: Observation) -> Root | Action:
        """Every act but speech, which is what a Servant in this seat would believe; of a seat from 0."""
        facts: PrivateInformation = view.facts
        if SPEAK in facts.choices:
            return Bayesian().act(view)
        roles = facts.rules.roles
        chances = posterior(roles, evidence_of(facts), rounds_of(facts))
        numbers = np.flatnonzero(chances)
        deals = [table_of(roles).deals[one] for one in numbers]
        pairs = [(kind, aim) for kind, aims in facts.choices.items() for aim in aims or (None,)]
        start = position_of(facts, deals[0])

        def at(deal: Deal, number: int) -> AvalonPosition:
            game = start.game.copy()
            game.deal, game.evil = deal, evil_seats(deal)
            return AvalonPosition(game, start.suspected)

        options, moves = [aimed(*pair) for pair in pairs], [_move(*pair) for pair in pairs]
        return Root(options, moves, deals, chances[numbers].tolist(), at, facts.seat - 1)

    def valued(self, facts: PrivateInformation, deal: Deal) -> str:
        """Where somebody is about to propose."""
        return position_of(facts, deal).key() if PROPOSE in facts.choices else ""


def _move(kind: str, aim: Any) -> Any:
    if aim is None:
        return kind in (APPROVE, PASS)
    return tuple(one - 1 for one in aim) if isinstance(aim, tuple) else aim - 1
