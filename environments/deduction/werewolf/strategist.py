"""What Strategist searches of Werewolf: every act, and speech among the sentences of a guide (`moves.speeches`)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from random import Random
from typing import ClassVar

import numpy as np

from apportion.environments.deduction.events import SPEAK, Deal, Event
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.deduction.scripts import aimed
from apportion.environments.deduction.tree_search import Root, TreeSearch
from apportion.environments.deduction.werewolf.cast import GUARDIAN, SEER, VILLAGE, WEREWOLVES
from apportion.environments.deduction.werewolf.moves import said, speeches
from apportion.environments.deduction.werewolf.posterior import HABITS, posterior, public_of, watched, weighted
from apportion.environments.deduction.werewolf.role_assignments import deals_of
from apportion.environments.deduction.werewolf.rules import (
    CHECK,
    CHECKED,
    GUARD,
    KILL,
    NOBODY,
    OUT,
    PROPOSE,
    SHOOT,
    VOTE,
    Table,
)
from apportion.environments.deduction.werewolf.scripts import pack_of
from apportion.environments.environment import Observation

TOLD = 0.8
"""Habit of a seer: how probably the village knows and believes whom it has found, by the next vote."""


SHARP = 5
"""Habit of all: how far they agree on whom they suspect, as the power of what they hold."""
UNGUIDED = ("anybody", "clear")
"""What the guide leaves out: who listens to claims alone votes such speakers out."""


class WerewolfPosition:
    """A game under one deal, and what all know: how far each seat is held for a werewolf, and for the seer."""

    def __init__(self, table: Table, wolf: Sequence[float], seer: Sequence[float]) -> None:
        self.table, self.wolf, self.seer = table, list(wolf), seer

    @property
    def winner(self) -> str:
        """The team that has won."""
        return self.table.winner

    def acting(self) -> Sequence[int]:
        """The seats that act now, from 1."""
        return self.table.acting()

    def moves(self, seat: int) -> Sequence[int]:
        """At whom an act may be aimed; no vote is given away."""
        table = self.table
        own = (NOBODY, *table.wolves) if seat in table.wolves else (NOBODY,)
        aims = table.aims(seat)
        return [one for one in aims if one not in own] or aims if table.phase == VOTE else aims

    def habit(self, seat: int, draws: Random) -> int:
        """Whom most hold for a werewolf or for the seer, more or less; a werewolf spares its own."""
        table = self.table
        phase, own = table.phase, table.wolves if seat in table.wolves else (seat,)
        if phase in (PROPOSE, KILL) and table.proposal and draws.random() < 0.8:
            return table.proposal
        aims = [one for one in table.aims(seat) if one != NOBODY and (one not in own or phase == GUARD)]
        held = self.seer if phase in (PROPOSE, KILL, GUARD) else self.wolf
        if phase == CHECK:
            return draws.choice(aims)
        return draws.choices(aims, [(held[one - 1] + 0.02) ** SHARP for one in aims])[0]

    def do(self, moves: Mapping[int, int], draws: Random) -> None:
        """By the rules; whom a seer has found the village may know."""
        for kind, seat, is_wolf in self.table.do(moves, draws):
            if kind == CHECKED and draws.random() < TOLD:
                self.wolf[int(seat) - 1] = 2.0 if is_wolf else 0.0

    def seen(self) -> Hashable:
        """What all see."""
        return self.table.phase, self.table.day, self.table.alive

    def key(self) -> str:
        """Before a vote: who lives, and whether a werewolf seems to be one."""
        table = self.table
        if table.phase != VOTE:
            return ""
        roles = {table.roles[seat - 1] for seat in table.alive}
        most = max(table.alive, key=lambda seat: self.wolf[seat - 1])
        able = "s" * (SEER in roles) + "g" * (GUARDIAN in roles)
        return f"{len(table.wolves)} of {len(table.alive)} {able} {'known' if most in table.wolves else 'hidden'}"


class Strategist(TreeSearch):
    """Strategist of Werewolf."""

    teams: ClassVar[tuple[str, str]] = (VILLAGE, WEREWOLVES)

    def root(self, view: Observation) -> Root:
        """Every act; a speech by what all would know after it."""
        facts: PrivateInformation = view.facts
        table = deals_of(facts.rules.roles)
        chances = posterior(facts)
        numbers = np.flatnonzero(chances)
        deals, odds = [table.deals[one] for one in numbers], chances[numbers].tolist()
        if SPEAK in facts.choices:
            told = {claim: said(claim) for name, claim in speeches(view).items() if name not in UNGUIDED}
            options = list(told.values())
            heard = [_all_know(facts, act.text) for act in options]
            return Root(options, None, deals, odds, lambda deal, at: position_of(facts, deal, heard[at]))
        ((kind, aims),) = facts.choices.items()
        own = pack_of(facts)
        moves = [one for one in aims if kind not in (VOTE, SHOOT) or one not in (NOBODY, *own)]
        known = _all_know(facts)
        options = [aimed(kind, aim) for aim in moves]
        return Root(options, moves, deals, odds, lambda deal, at: position_of(facts, deal, known))

    def valued(self, facts: PrivateInformation, deal: Deal) -> str:
        """Where the first who lives is about to vote."""
        return position_of(facts, deal, _all_know(facts)).key() if VOTE in facts.choices else ""


Known = tuple[list[float], list[float]]


def _all_know(facts: PrivateInformation, speech: str = "") -> Known:
    """By seat, how probably it is a werewolf, and the seer, to whoever knows what all know; after a speech, if any."""
    roles, events = facts.rules.roles, public_of(facts)
    if speech:
        events = (*events, Event(facts.stage, SPEAK, facts.seat, speech))
    table = deals_of(roles)
    chances = weighted(table, np.ones(len(table.deals), bool), watched(roles, events, HABITS).log)
    return (chances @ table.wolf).tolist(), (chances @ table.seer).tolist()


def position_of(facts: PrivateInformation, deal: Deal, known: Known) -> WerewolfPosition:
    """Where the game stands, as a player knows it, under a deal; of this night's secret acts the habits."""
    (kind,) = facts.choices
    phase = VOTE if kind == SPEAK else kind
    table = Table.at(facts.rules, deal, facts.alive, facts.stage.round, (phase, facts.seat))
    table._voted = phase == SHOOT and any(
        event.kind == OUT and event.stage.round == table.day for event in facts.events
    )
    position = WerewolfPosition(table, *known)
    if phase in (CHECK, GUARD):
        others = [one for one in facts.alive if one not in table.wolves]
        table.target = max(others, key=lambda one: known[1][one - 1])
    elif phase == KILL:
        table.proposal = next((event.data for event in facts.events[-1:] if event.kind == PROPOSE), NOBODY)
    return position
