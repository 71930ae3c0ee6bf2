"""The six tactics of a discussion (Jin et al., 2024), said by scripts: what `rl-ins` chooses among without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apportion.environments.deduction.chooser import Mind
from apportion.environments.deduction.events import SPEAK, called
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.deduction.onuw.claims import sentence
from apportion.environments.deduction.onuw.observation import lived
from apportion.environments.deduction.onuw.rules import PLAYERS, WEREWOLF
from apportion.environments.deduction.onuw.scripts import Claiming, believable, claims_in, suspicion
from apportion.environments.environment import Action, Observation

EVIDENCE, ACCUSATION, DEFENSE = "evidence", "accusation", "defense"


def tactics(view: Observation) -> Mapping[str, Action]:
    """By tactic a speech: evidence is a night, an accusation a night and a suspect, a defense the card that one had.

    Honest ones are true as far as the player knows, deceptive ones of a made-up night, against whom it suspects least.
    What is no speech a script does (`Claiming`).
    """
    facts: PrivateInformation = view.facts
    if SPEAK not in facts.choices:
        return {"act": Claiming().act(view)}
    seat, known, claims = facts.seat - 1, lived(facts), claims_in(facts)
    points = suspicion(claims, seat, known)
    others = sorted((other for other in range(PLAYERS) if other != seat), key=lambda other: points[other])
    told = {}
    for how, night, suspect in (
        ("honest", known, others[-1]),
        ("deceptive", believable(claims, seat, view.draws), others[0]),
    ):
        told[f"{how} {EVIDENCE}"] = sentence(night)
        told[f"{how} {ACCUSATION}"] = f"{sentence(night)} I suspect {called(suspect + 1)}."
        told[f"{how} {DEFENSE}"] = f"I was the {night.role.title()}."
    return {name: Action(SPEAK, words) for name, words in told.items()}


def features(name: str, act: Action, view: Observation) -> Sequence[str]:
    """The tactic, with what the player was dealt, what it has now, and whether somebody claims to have seen that."""
    facts: PrivateInformation = view.facts
    seat, known, claims = facts.seat - 1, lived(facts), claims_in(facts)
    first = "first" if seat not in claims else "again"
    now = "wolf" if known.last == WEREWOLF else "village"
    seen = any(WEREWOLF in claim.seen[:1] and claim.choice == (seat,) for claim in claims.values())
    suspected = "seen" if seen else "unseen"
    return f"{name}: {now}", f"{name}: {known.role} {now}", f"{name}: {now} {first} {suspected}"


MIND = Mind(tactics, features)
