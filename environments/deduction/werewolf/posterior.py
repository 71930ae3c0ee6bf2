"""The exact posterior over all deals, given what a player knows and how players of each role are taken to behave."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from apportion.environments.deduction.deals import Bools
from apportion.environments.deduction.events import SPEAK, VOTE, Event
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.deduction.werewolf.claims import claim_in
from apportion.environments.deduction.werewolf.role_assignments import Deals, Floats, deals_of, fitting
from apportion.environments.deduction.werewolf.rules import KILLED, OUT, SHOOT


@dataclass(frozen=True)
class OpponentModel:
    """How players of each role are taken to behave; what is not said is uniform.

    ``spares``: How much less often a werewolf votes for its own, or suspects them aloud, than for each other.
    ``claims``: How probably a seer, a werewolf and anybody else first claims to be the seer in one speech. ``seen``:
    How probably a seer's claim of what it saw is true. ``names``: How probably a werewolf that claims to be the seer
    calls somebody a werewolf who is none, and one who is. ``hunted``: How much more often somebody who claims to be the
    seer is attacked, or protected, than anybody else. ``idle``: How probably the werewolves attack nobody.
    """

    spares: float = 0.2
    claims: tuple[float, float, float] = (0.5, 0.1, 0.01)
    seen: float = 0.999
    names: tuple[float, float] = (0.8, 0.1)
    hunted: float = 4.0
    idle: float = 0.001


HABITS = OpponentModel()


class ObservedEvidence(NamedTuple):
    """What public events say: log-likelihood of each deal [shape=(D,)], who lives, who claims to be the seer."""

    log: Floats
    alive: tuple[int, ...]
    seers: frozenset[int]


def posterior(facts: PrivateInformation, habits: OpponentModel = HABITS) -> Floats:
    """The probability of every deal of `deals_of`, 0 where the facts rule it out [shape=(D,)]."""
    table = deals_of(facts.rules.roles)
    return weighted(table, fitting(facts), watched(facts.rules.roles, public_of(facts), habits).log)


def weighted(table: Deals, possible: Bools, log: Floats) -> Floats:
    """The normed weights of the possible ones of the deals."""
    numbers = np.flatnonzero(possible)
    weights = np.zeros(len(table.deals))
    weights[numbers] = np.exp(log[numbers] - log[numbers].max())
    normed: Floats = weights / weights.sum()
    return normed


def public_of(facts: PrivateInformation) -> tuple[Event, ...]:
    """What everybody knows and a deal makes more or less probable."""
    kinds = (SPEAK, VOTE, KILLED, OUT, SHOOT)
    return tuple([event for event in facts.events if event.kind in kinds])


@lru_cache(maxsize=512)
def watched(roles: tuple[str, ...], events: tuple[Event, ...], habits: OpponentModel) -> ObservedEvidence:
    """What public events say; those before the last are looked up."""
    table = deals_of(roles)
    if not events:
        return ObservedEvidence(np.zeros(len(table.deals)), tuple(range(1, len(roles) + 1)), frozenset())
    before, event = watched(roles, events[:-1], habits), events[-1]
    if event.kind == VOTE:
        return before._replace(log=before.log + _aimed(event.seat, event.data, before.alive, table, habits))
    if event.kind == SPEAK:
        return _heard(event, before, table, habits)
    log = before.log + (_killed(event.data, before, table, habits) if event.kind == KILLED else 0.0)
    return ObservedEvidence(log, tuple(seat for seat in before.alive if seat != event.data), before.seers)


def _aimed(seat: int, at: int, alive: tuple[int, ...], table: Deals, habits: OpponentModel) -> Floats:
    """A vote for one of the others, or for nobody (0): werewolves spare their own."""
    others = [one - 1 for one in alive if one != seat]
    own = table.wolf[:, seat - 1]
    mates = table.wolf[:, others].sum(axis=1)
    all_weights = len(others) + 1 - own * mates * (1 - habits.spares)
    mine = 1 - own * table.wolf[:, at - 1] * (1 - habits.spares) if at else 1.0
    found: Floats = np.log(mine / all_weights)
    return found


def _heard(event: Event, before: ObservedEvidence, table: Deals, habits: OpponentModel) -> ObservedEvidence:
    """A speech: whether it claims to be the seer's, what it says of others, whom it suspects."""
    claim, log, seat = claim_in(event.text), before.log, event.seat
    seer, wolf = table.seer[:, seat - 1], table.wolf[:, seat - 1]
    if seat not in before.seers:
        chance = np.select([seer == 1, wolf == 1], habits.claims[:2], habits.claims[2])
        log = log + np.log(chance if claim.seer else 1 - chance)
    if claim.seer:
        for at, is_one in claim.results:
            if 1 <= at <= table.wolf.shape[1] and at != seat:
                its = table.wolf[:, at - 1] == 1
                named = np.where(its, habits.names[1], habits.names[0])
                lied = np.where(is_one, named, 1 - named)
                told = np.where(its == is_one, habits.seen, 1 - habits.seen)
                log = log + np.log(np.select([seer == 1, wolf == 1], [told, lied], 0.5))
    for at in claim.suspects:
        if at in before.alive and at != seat:
            log = log + _aimed(seat, at, before.alive, table, habits)
    return ObservedEvidence(log, before.alive, before.seers | ({seat} if claim.seer else set()))


def _killed(victim: int, before: ObservedEvidence, table: Deals, habits: OpponentModel) -> Floats:
    """A night: the werewolves attack somebody who is none of them, the guardian protects anybody."""
    seats = [seat - 1 for seat in before.alive]
    fame = np.array([habits.hunted if seat in before.seers else 1.0 for seat in before.alive])
    attacked = (1 - table.wolf[:, seats]) * fame
    attacked = attacked / attacked.sum(axis=1, keepdims=True) * (1 - habits.idle)
    guards = table.guardian[:, seats].sum(axis=1)
    protected = guards[:, None] * (fame / fame.sum())
    if victim:
        place = before.alive.index(victim)
        chance = attacked[:, place] * (1 - protected[:, place])
    else:
        chance = habits.idle + (attacked * protected).sum(axis=1)
    found: Floats = np.log(np.maximum(chance, 1e-12))
    return found
