"""Scripted players of Avalon; each knows what its seat knows, and keeps nothing between its acts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import ClassVar

from apportion.environments.deduction.avalon.cast import SERVANT
from apportion.environments.deduction.avalon.claims import Claim, all_claims_in, claims_in
from apportion.environments.deduction.avalon.observation import (
    APPROVE,
    FAIL,
    NAME,
    PASS,
    PROPOSE,
    REJECT,
    WENT,
    evidence_of,
    rounds_of,
)
from apportion.environments.deduction.avalon.posterior import (
    Floats,
    Round,
    clean_chances,
    evil_chances,
    merlin_chances,
    posterior,
)
from apportion.environments.deduction.avalon.role_assignments import Evidence, numbers_of, suspicion
from apportion.environments.deduction.avalon.rules import EVIL
from apportion.environments.deduction.events import SPEAK
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.environment import Action, Observation

SERVANT_CLAIMED = "a Servant of Arthur"
HEARD = 0.15
"""By how much an accusation by somebody beyond suspicion raises the suspicion of whom it names; trust lowers it so."""
TRUSTED = 0.25
"""Below such a suspicion somebody is trusted in words."""
CONTENT = 0.75
"""Of the best team's chance to be clean, what a Bayesian good player is content with."""


class Script(ABC):
    """A player who decides by what its seat knows; seats are numbered from 0 here."""

    called: ClassVar[str]
    paid: ClassVar[bool] = False

    def act(self, view: Observation) -> Action:
        """The next act."""
        facts: PrivateInformation = view.facts
        if SPEAK in facts.choices:
            return Action(SPEAK, self.claim(facts, view).sentence)
        if PROPOSE in facts.choices:
            team = self.team(facts, len(facts.choices[PROPOSE][0]), view)
            return Action(PROPOSE, "", sorted(seat + 1 for seat in team))
        if APPROVE in facts.choices:
            return Action(APPROVE if self.approves(facts, rounds_of(facts)[-1].team) else REJECT)
        if NAME in facts.choices:
            return Action(NAME, "", self.target(facts, view) + 1)
        fails = FAIL in facts.choices and self.fails(facts, rounds_of(facts)[-1].team)
        return Action(FAIL if fails else PASS)

    @abstractmethod
    def claim(self, facts: PrivateInformation, view: Observation) -> Claim:
        """What it says."""

    @abstractmethod
    def team(self, facts: PrivateInformation, size: int, view: Observation) -> Sequence[int]:
        """Whom it proposes."""

    @abstractmethod
    def approves(self, facts: PrivateInformation, team: Sequence[int]) -> bool:
        """Whether it votes for a team."""

    @abstractmethod
    def target(self, facts: PrivateInformation, view: Observation) -> int:
        """Whom the Assassin names."""

    def fails(self, facts: PrivateInformation, team: Sequence[int]) -> bool:
        """Whether an evil player fails a quest: it does, but where enough evil ones of lower seats are there to."""
        lower = sum(seat < facts.seat - 1 for seat in _evil(facts) & set(team))
        played = sum(event.kind == WENT for event in facts.events)
        return bool(lower < facts.rules.fails(played))


class Claims(Script):
    """Says what it is and whom it suspects, and counts what others say; evil ones claim to be Servants and accuse.

    Suspicion is the share of the possible deals in which a seat is evil, raised by every speaker's last accusation and
    lowered by trust, less so the more the speaker is suspected. Merlin claims to be a Servant and tells who is evil all
    the same, one of them at a time.
    """

    called = "claims"

    def claim(self, facts: PrivateInformation, view: Observation) -> Claim:
        """The most and the least suspected, nobody while all are alike; an evil player's most suspected good one."""
        mine, suspected = facts.seat - 1, heard_suspicion(facts)
        others = [seat for seat in range(len(facts.alive)) if seat != mine]
        if facts.team == EVIL:
            good = [seat for seat in others if seat not in _evil(facts)]
            return Claim(SERVANT_CLAIMED, (_most(good, _public(facts), view) + 1,))
        worst = _most(others, suspected, view)
        if suspected[worst] - min(suspected[seat] for seat in others) < 1e-9:
            return Claim(SERVANT_CLAIMED)
        trusted = tuple(seat + 1 for seat in others if suspected[seat] < min(suspected[worst], TRUSTED))
        return Claim(SERVANT_CLAIMED, (worst + 1,), trusted)

    def team(self, facts: PrivateInformation, size: int, view: Observation) -> Sequence[int]:
        """Itself and the least suspected; an evil leader takes no other evil player along."""
        mine, evil = facts.seat - 1, facts.team == EVIL
        others = [seat for seat in range(len(facts.alive)) if seat != mine and not (evil and seat in _evil(facts))]
        suspected = _public(facts) if evil else heard_suspicion(facts)
        return [mine, *_fewest(others, suspected, view, size - 1)]

    def approves(self, facts: PrivateInformation, team: Sequence[int]) -> bool:
        """Good: its members are suspected no more than players on average, none for certain. Evil: an evil one goes."""
        if facts.team == EVIL:
            return bool(_evil(facts) & set(team))
        mine, suspected = facts.seat - 1, heard_suspicion(facts)
        others = [suspected[seat] for seat in range(len(facts.alive)) if seat != mine]
        members = [suspected[seat] for seat in team if seat != mine]
        return max(members, default=0) < 1 and sum(members) <= len(members) * sum(others) / len(others) + 1e-9

    def target(self, facts: PrivateInformation, view: Observation) -> int:
        """Who accused evil players most often, good ones least."""
        evil, told = _evil(facts), [0.0] * len(facts.alive)
        for seat, claim in all_claims_in(facts.events):
            told[seat - 1] += sum(1 if one - 1 in evil else -1 for one in claim.evil)
        return _most([seat for seat in range(len(told)) if seat not in evil], told, view)


class Bayesian(Script):
    """Plays by the exact posterior over all deals that fit what it knows (`beliefs`); hears nothing that is said.

    It speaks in the sentences of `Claims`, of what a Servant in its seat would believe: neither Merlin nor evil players
    tell what they know.
    """

    called = "bayes"

    def claim(self, facts: PrivateInformation, view: Observation) -> Claim:
        """The most probable evil player, to a Servant; an evil player accuses no other one."""
        mine, chances = facts.seat - 1, as_a_servant(facts)
        spared = _evil(facts) if facts.team == EVIL else frozenset()
        others = [seat for seat in range(len(chances)) if seat != mine and seat not in spared]
        return Claim(SERVANT_CLAIMED, (_most(others, chances, view) + 1,))

    def team(self, facts: PrivateInformation, size: int, view: Observation) -> Sequence[int]:
        """Good: the team that is clean with the highest chance, itself in it. Evil: itself and whom Servants trust."""
        mine = facts.seat - 1
        others = [seat for seat in range(len(facts.alive)) if seat != mine]
        if facts.team == EVIL:
            good = [seat for seat in others if seat not in _evil(facts)]
            return [mine, *_fewest(good, as_a_servant(facts), view, size - 1)]
        teams = [(mine, *rest) for rest in combinations(others, size - 1)]
        worth = clean_chances(facts.rules.roles, _posterior(facts), teams)
        best = max(worth.values())
        return view.draws.choice([team for team in teams if worth[team] > best - 1e-9])

    def approves(self, facts: PrivateInformation, team: Sequence[int]) -> bool:
        """Good: the team is nearly as probably clean as the best one. Evil: an evil player goes."""
        if facts.team == EVIL:
            return bool(_evil(facts) & set(team))
        every = list(combinations(range(len(facts.alive)), len(team)))
        worth = clean_chances(facts.rules.roles, _posterior(facts), every)
        return worth[tuple(team)] >= CONTENT * max(worth.values())

    def target(self, facts: PrivateInformation, view: Observation) -> int:
        """The most probable Merlin."""
        chances = merlin_chances(facts.rules.roles, _posterior(facts))
        return _most([seat for seat in range(len(chances)) if seat != facts.seat - 1], chances, view)


def heard_suspicion(facts: PrivateInformation) -> list[float]:
    """By seat, how far a player who listens suspects it: by logic, and by what was claimed."""
    mine = facts.seat - 1
    logic = suspicion(facts.rules.roles, evidence_of(facts))
    suspected = list(logic)
    for seat, claim in claims_in(facts.events):
        if seat - 1 == mine:
            continue
        trust = HEARD * (1 - logic[seat - 1])
        for named, worth in ((claim.evil, trust), (claim.trusted, -trust)):
            for one in named:
                if one in facts.alive and 0 < logic[one - 1] < 1:
                    suspected[one - 1] += worth
    return suspected


def _evil(facts: PrivateInformation) -> frozenset[int]:
    """Whom an evil player knows to be evil."""
    return frozenset((facts.seat - 1, *(evidence_of(facts).seen or ())))


def _servant(facts: PrivateInformation) -> tuple[Evidence, tuple[Round, ...]]:
    """What a Servant in this seat would know, who fails no quest, and the rounds as they would take them."""
    rounds = tuple(replace(one, own=0) for one in rounds_of(facts))
    quests = tuple(one.others_fails(facts.seat - 1) for one in rounds if one.fails is not None)
    return Evidence(facts.seat - 1, SERVANT, None, quests), rounds


def _public(facts: PrivateInformation) -> Sequence[float]:
    """How far a Servant in this seat would suspect each, by logic; nobody where that is impossible."""
    return suspicion(facts.rules.roles, _servant(facts)[0])


def as_a_servant(facts: PrivateInformation) -> Sequence[float]:
    """By seat, how probably it is evil to a Servant in this seat; nobody where that is impossible."""
    roles, (known, rounds) = facts.rules.roles, _servant(facts)
    if not len(numbers_of(roles, known)):  # The quests that failed cannot be without this evil player.
        return (0.0,) * len(facts.alive)
    return evil_chances(roles, posterior(roles, known, rounds))


def _posterior(facts: PrivateInformation) -> Floats:
    return posterior(facts.rules.roles, evidence_of(facts), rounds_of(facts))


def _most(seats: Sequence[int], worth: Sequence[float], view: Observation) -> int:
    """The seat that is worth most; one of the equal ones by lot."""
    best = max(worth[seat] for seat in seats)
    return view.draws.choice([seat for seat in seats if worth[seat] > best - 1e-9])


def _fewest(seats: Sequence[int], worth: Sequence[float], view: Observation, count: int) -> list[int]:
    """So many seats that are worth least, equal ones by lot."""
    shuffled = list(seats)
    view.draws.shuffle(shuffled)
    return sorted(shuffled, key=lambda seat: worth[seat])[:count]
