"""What Strategist searches of Werewolf: every act, and speech among the sentences of a guide (`moves.speeches`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import ClassVar

import numpy as np

from apportion.environments.deduction.act_search import ActSearch, Root
from apportion.environments.deduction.events import SPEAK, Deal, Event
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.deduction.scripts import aimed
from apportion.environments.deduction.werewolf import rules
from apportion.environments.deduction.werewolf.cast import GUARDIAN, SEER, VILLAGE, WEREWOLVES
from apportion.environments.deduction.werewolf.moves import said, speeches
from apportion.environments.deduction.werewolf.posterior import posterior, public_of
from apportion.environments.deduction.werewolf.role_assignments import deals_of
from apportion.environments.deduction.werewolf.rules import CHECK, GUARD, KILL, NOBODY, PROPOSE, SHOOT, VOTE, Table
from apportion.environments.deduction.werewolf.scripts import held_by_all, pack_of
from apportion.environments.environment import Observation

TOLD = 0.8
"""Habit of a seer: how probably the village knows and believes whom it has found, by the next vote."""
SHARP = 5
"""Habit of all: how far they agree on whom they suspect, as the power of what they hold."""
UNGUIDED = ("anybody", "clear")
"""What the guide leaves out: who listens to claims alone votes such speakers out."""


class WerewolfPosition:
    """A game under one deal, and what all know: how far each seat is held for a werewolf, and for the seer."""

    def __init__(self, game: Table, wolf: Sequence[float], seer: Sequence[float]) -> None:
        self.game, self.wolf, self.seer = game, list(wolf), seer

    def habit(self, seat: int, draws: Random) -> int:
        """Whom most hold for a werewolf or for the seer, more or less; a werewolf spares its own."""
        game = self.game
        phase, own = game.phase, game.wolves if seat in game.wolves else (seat,)
        if phase in (PROPOSE, KILL) and game.proposal and draws.random() < 0.8:
            return game.proposal
        aims = [one for one in game.aims(seat) if one != NOBODY and (one not in own or phase == GUARD)]
        if phase == CHECK:
            return draws.choice(aims)
        held = self.seer if phase in (PROPOSE, KILL, GUARD) else self.wolf
        return draws.choices(aims, [(held[one - 1] + 0.02) ** SHARP for one in aims])[0]

    def do(self, moves: Mapping[int, int], draws: Random) -> None:
        """By the rules; whom a seer has found the village may know."""
        for kind, seat, is_wolf in self.game.do(moves, draws):
            if kind == rules.CHECKED and draws.random() < TOLD:
                self.wolf[int(seat) - 1] = 2.0 if is_wolf else 0.0

    def key(self) -> str:
        """Before a vote: who lives, and whether a werewolf seems to be one."""
        game = self.game
        if game.phase != VOTE:
            return ""
        roles = {game.roles[seat - 1] for seat in game.alive}
        most = max(game.alive, key=lambda seat: self.wolf[seat - 1])
        able = "s" * (SEER in roles) + "g" * (GUARDIAN in roles)
        return f"{len(game.wolves)} of {len(game.alive)} {able} {'known' if most in game.wolves else 'hidden'}"


class Strategist(ActSearch):
    """Strategist of Werewolf."""

    teams: ClassVar[tuple[str, str]] = (VILLAGE, WEREWOLVES)

    def root(self, view: Observation) -> Root:
        """Every act; a speech by what all would know after it."""
        facts: PrivateInformation = view.facts
        chances = posterior(facts)
        numbers = np.flatnonzero(chances)
        deals = [deals_of(facts.rules.roles).deals[one] for one in numbers]
        ((kind, aims),) = facts.choices.items()
        moves: list[int] | None = None
        if kind == SPEAK:
            guided = dict.fromkeys(claim for name, claim in speeches(view).items() if name not in UNGUIDED)
            options = [said(claim) for claim in guided]
            known = [_all_know(facts, act.text) for act in options]
        else:
            own = (NOBODY, *pack_of(facts)) if kind in (VOTE, SHOOT) else ()
            moves = [one for one in aims if one not in own]
            options, known = [aimed(kind, aim) for aim in moves], [_all_know(facts)] * len(moves)
        odds = chances[numbers].tolist()
        return Root(options, moves, deals, odds, lambda deal, at: position_of(facts, deal, known[at]), facts.seat)

    def valued(self, facts: PrivateInformation, deal: Deal) -> str:
        """Where the first who lives is about to vote."""
        return position_of(facts, deal, _all_know(facts)).key() if VOTE in facts.choices else ""


Known = tuple[list[float], list[float]]


def _all_know(facts: PrivateInformation, speech: str = "") -> Known:
    """By seat, how probably it is a werewolf, and the seer, to whoever knows what all know; after a speech, if any."""
    said = (Event(facts.stage, SPEAK, facts.seat, speech),) if speech else ()
    table, chances = deals_of(facts.rules.roles), held_by_all(facts.rules.roles, (*public_of(facts), *said))
    return (chances @ table.wolf).tolist(), (chances @ table.seer).tolist()


def position_of(facts: PrivateInformation, deal: Deal, known: Known) -> WerewolfPosition:
    """Where the game stands, as a player knows it, under a deal; of this night's secret acts the habits."""
    (kind,) = facts.choices
    phase = VOTE if kind == SPEAK else kind
    voted = any(event.kind == rules.OUT and event.stage.round == facts.stage.round for event in facts.events)
    game = Table.at(facts.rules, deal, facts.alive, facts.stage.round, (phase, facts.seat), phase == SHOOT and voted)
    if phase in (CHECK, GUARD):
        others = [one for one in facts.alive if one not in game.wolves]
        game.target = max(others, key=lambda one: known[1][one - 1])
    elif phase == KILL:
        game.proposal = next((event.data for event in facts.events[-1:] if event.kind == PROPOSE), NOBODY)
    return WerewolfPosition(game, *known)
