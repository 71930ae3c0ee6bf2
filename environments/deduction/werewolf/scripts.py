"""A player who follows rules of thumb and talks in claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import ClassVar

import numpy as np

from apportion.environments.deduction.events import SPEAK, Event
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.deduction.scripts import SMALL_TALK, aimed
from apportion.environments.deduction.werewolf.cast import SEER, WEREWOLF
from apportion.environments.deduction.werewolf.claims import Claim, Talk
from apportion.environments.deduction.werewolf.posterior import (
    HABITS,
    posterior,
    public_of,
    watched,
    weighted,
)
from apportion.environments.deduction.werewolf.role_assignments import Floats, deals_of
from apportion.environments.deduction.werewolf.rules import (
    CHECKED,
    GUARD,
    KILL,
    KILLED,
    PACK,
    PROPOSE,
    SHOOT,
    VOTE,
)
from apportion.environments.environment import Action, Observation

NAMED = 1.0
"""How much has to speak for somebody's being a werewolf before it is said aloud."""


class Claims:
    """Believes what a seer says, suspects whoever suspects innocents, and tells what it claims to know.

    It believes a seer the less, the more there are; that somebody alone claims to be it speaks neither for nor against
    that one, who may be voted for where nobody else is suspected more.

    A seer tells what it saw once it has seen a werewolf, from the second day, or when somebody else claims to be it. A
    werewolf that a seer has named claims to be the seer itself, and names the other.
    """

    called: ClassVar[str] = "claims"
    paid: ClassVar[bool] = False

    def act(self, view: Observation) -> Action:
        """The next act."""
        facts: PrivateInformation = view.facts
        talk, draws = Talk.of(facts), view.draws
        if SPEAK in facts.choices:
            suspect, score = self.suspect(facts, talk, draws)
            said = speech(facts, talk, suspect if score >= NAMED else 0)
            return Action(SPEAK, said.sentence() or draws.choice(SMALL_TALK))
        ((kind, aims),) = facts.choices.items()
        return aimed(kind, self.aim(kind, aims, facts, talk, draws))

    def aim(self, kind: str, aims: Sequence[int], facts: PrivateInformation, talk: Talk, draws: Random) -> int:
        """At whom an act is aimed."""
        if kind in (VOTE, SHOOT):
            return self.suspect(facts, talk, draws)[0]
        seers = [seat for seat in talk.seers if seat in aims]
        if kind in (PROPOSE, KILL):
            return draws.choice(seers or [seat for seat in aims if set(talk.suspected) & set(pack_of(facts))] or aims)
        if kind == GUARD:
            return draws.choice(seers or aims)
        unseen = [seat for seat in aims if seat not in seen_by(facts)]  # A check.
        return draws.choice([seat for seat in unseen if seat in talk.suspected] or unseen or aims)

    def suspect(self, facts: PrivateInformation, talk: Talk, draws: Random) -> tuple[int, float]:
        """Whom it would vote for, and how much speaks for that."""
        own = pack_of(facts)
        scores = {seat: suspicion(seat, facts, talk) for seat in facts.alive if seat != facts.seat and seat not in own}
        most = max(scores.values())
        return draws.choice([seat for seat, score in scores.items() if score == most]), most


def suspicion(seat: int, facts: PrivateInformation, talk: Talk) -> float:
    """How much speaks for a player's being a werewolf, by rules of thumb."""
    known = seen_by(facts).get(seat)
    score = 0.0 if known is None else 10.0 if known else -10.0
    for seer, results in talk.seers.items():
        if seer != facts.seat and seat in results:
            score += (3.0 if results[seat] else -2.0) / len(talk.seers)
    if seat in talk.seers:
        score += len(talk.seers) - 1 if facts.role != SEER else 10.0
        score += 8.0 * (talk.seers[seat].get(facts.seat) is True)
    innocent = {facts.seat, *(event.data for event in facts.events if event.kind == KILLED)}
    against = sum(talk.suspected.get(one, ()).count(seat) for one in innocent)
    return score + against + 0.1 * len(set(talk.suspected.get(seat, ())) - {facts.seat, seat})


def speech(facts: PrivateInformation, talk: Talk, suspect: int) -> Claim:
    """What is claimed in a speech: what a seer saw, what a werewolf pretends, and who is suspected."""
    suspects = (suspect,) if suspect else ()
    if facts.role == SEER:
        seen = seen_by(facts)
        others = [seat for seat in talk.seers if seat != facts.seat]
        if any(seen.values()) or others or facts.stage.round > 1:
            return Claim(True, tuple(seen.items()), suspects)
    named_by = talk.named({facts.seat})
    if facts.role == WEREWOLF and named_by:
        return Claim(True, ((named_by[0], True),), (named_by[0],))
    return Claim(suspects=suspects)


def seen_by(facts: PrivateInformation) -> Mapping[int, bool]:
    """What a seer has seen: by seat whether it is a werewolf."""
    return dict(event.data for event in facts.events if event.kind == CHECKED)


def pack_of(facts: PrivateInformation) -> tuple[int, ...]:
    """Of a werewolf, all of them; of others nobody."""
    known = [event.data for event in facts.events if event.kind == PACK]
    return tuple(known[0]) if known else (facts.seat,) if facts.role == WEREWOLF else ()


SURE = 0.5
"""Probability of being a werewolf from which somebody is named."""


class BayesianAgent:
    """Votes for whoever is most probably a werewolf, looks where that is least sure, protects the most probable seer.

    A werewolf does not ask who is one: it asks whom the others must suspect by what everybody knows, has that one voted
    out, and kills whom the others must take for the seer.
    """

    called: ClassVar[str] = "bayes"
    paid: ClassVar[bool] = False

    def act(self, view: Observation) -> Action:
        """The next act."""
        facts: PrivateInformation = view.facts
        if SPEAK in facts.choices:
            suspect, chance = self.suspect(facts, view.draws)
            said = speech(facts, Talk.of(facts), suspect if chance >= SURE else 0)
            return Action(SPEAK, said.sentence() or view.draws.choice(SMALL_TALK))
        ((kind, aims),) = facts.choices.items()
        return aimed(kind, self.aim(kind, aims, facts, view.draws))

    def aim(self, kind: str, aims: Sequence[int], facts: PrivateInformation, draws: Random) -> int:
        """At whom an act is aimed."""
        if kind in (VOTE, SHOOT):
            return self.suspect(facts, draws)[0]
        table = deals_of(facts.rules.roles)
        if kind in (PROPOSE, KILL):
            return _most(aims, _of_all(facts) @ (table.seer + 0.5 * table.guardian), draws)
        chances = posterior(facts)
        if kind == GUARD:
            return _most(aims, chances @ table.seer, draws)
        wolf = chances @ table.wolf
        unseen = [seat for seat in aims if seat not in seen_by(facts)]
        return _most(unseen or aims, wolf * (1 - wolf), draws)

    def suspect(self, facts: PrivateInformation, draws: Random) -> tuple[int, float]:
        """Whom it would vote for, and how probably the others must take that one for a werewolf."""
        own = (*pack_of(facts), facts.seat)
        others = [seat for seat in facts.alive if seat not in own]
        chances = (_of_all(facts) if facts.role == WEREWOLF else posterior(facts)) @ deals_of(facts.rules.roles).wolf
        at = _most(others, chances, draws)
        return at, float(chances[at - 1])


def held_by_all(roles: tuple[str, ...], events: tuple[Event, ...]) -> Floats:
    """How probable each deal is to whoever knows what all know (`public_of`), and no role [shape=(D,)]."""
    table = deals_of(roles)
    return weighted(table, np.ones(len(table.deals), bool), watched(roles, events, HABITS).log)


def _of_all(facts: PrivateInformation) -> Floats:
    return held_by_all(facts.rules.roles, public_of(facts))


def _most(seats: Sequence[int], values: Floats, draws: Random) -> int:
    best = np.max(values[[seat - 1 for seat in seats]])
    return draws.choice([seat for seat in seats if values[seat - 1] >= best - 1e-12])
