"""The few acts that one may think of at once, by name, and what an act is to those who see it, whoever thought of it.

Scripts propose by them in a language model's place (`sla`, `lspo`, the speeches of `strategist`); all of it is made of
what the player knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion.environments.deduction.chooser import Mind
from apportion.environments.deduction.events import SPEAK, VOTE, aim_of
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.deduction.scripts import SMALL_TALK, aimed
from apportion.environments.deduction.werewolf.cast import SEER
from apportion.environments.deduction.werewolf.claims import Claim, Talk, claim_in
from apportion.environments.deduction.werewolf.rules import NOBODY
from apportion.environments.deduction.werewolf.scripts import Claims, pack_of, seen_by
from apportion.environments.environment import Action, Observation


def speeches(view: Observation) -> Mapping[str, Claim]:
    """By name what a player may say: nothing, a suspicion, the truth of a seer, or the lies of one who is none."""
    facts, draws = view.facts, view.draws
    talk, seen, own = Talk.of(facts), seen_by(facts), {facts.seat, *pack_of(facts)}
    suspect = Claims().suspect(facts, talk, draws)[0]
    others = [seat for seat in facts.alive if seat not in own and not seen.get(seat, False)]
    anybody, found = draws.choice(others or [suspect]), tuple(seat for seat in facts.alive if seen.get(seat))
    told = {"nothing": Claim(), "suspect": Claim(suspects=(suspect,)), "anybody": Claim(suspects=(anybody,))}
    if found:
        told["hint"] = Claim(suspects=found[:1])
    if facts.role == SEER:
        told["tell"] = Claim(True, tuple(seen.items()), found[:1])
    accused = [seer for seer in talk.named(own) if seer in facts.alive]
    told["name"] = Claim(True, ((suspect, True),), (suspect,))
    told["clear"] = Claim(True, ((anybody, False),))
    if accused:
        told["counter"] = Claim(True, ((accused[0], True),), (accused[0],))
    return told


def moves(view: Observation) -> Mapping[str, Action]:
    """By name the acts that may be thought of; a speech by its claim in words."""
    facts, draws = view.facts, view.draws
    if SPEAK in facts.choices:
        return {name: said(claim) for name, claim in speeches(view).items()}
    ((kind, aims),) = facts.choices.items()
    talk, seen, own = Talk.of(facts), seen_by(facts), {facts.seat, *pack_of(facts)}
    others = [seat for seat in aims if seat not in own and seat != NOBODY]
    found: dict[str, list[int]] = {
        "anybody": others or list(aims),
        "seer": [seat for seat in talk.seers if seat in others],
        "accuser": [seat for seat in talk.named(own) if seat in others],
        "suspected": [seat for seat in talk.suspected if seat in others],
        "unseen": [seat for seat in others if seat not in seen],
        "found": [seat for seat in others if seen.get(seat)],
        "itself": [seat for seat in aims if seat == facts.seat],
    }
    if kind == VOTE:
        found |= {"suspect": [Claims().suspect(facts, talk, draws)[0]], "nobody": [NOBODY]}
    return {name: aimed(kind, draws.choice(seats)) for name, seats in found.items() if seats}


def said(claim: Claim) -> Action:
    """A claim as a speech; one that says nothing as small talk, always the same."""
    return Action(SPEAK, claim.sentence() or SMALL_TALK[0])


def situation(facts: PrivateInformation) -> str:
    """What a choice may depend on: role, day, whether somebody names the own side, how many claim to be the seer."""
    talk, own = Talk.of(facts), {facts.seat, *pack_of(facts)}
    seers, found = min(len(talk.seers), 2), any(seen_by(facts).get(seat) for seat in facts.alive)
    named, mine = bool(talk.named(own)), facts.seat in talk.seers
    return f"{facts.role} {min(facts.stage.round, 3)} {seers}{'!' * named}{'*' * mine}{'+' * found}"


def features(name: str, act: Action, view: Observation) -> tuple[str, ...]:
    """What an act is, read of the act alone: so it is of a script's and of a model's."""
    facts: PrivateInformation = view.facts
    talk, own = Talk.of(facts), {facts.seat, *pack_of(facts)}
    if act.kind == SPEAK:
        claim = claim_in(act.text)
        told = [f"{'own' if seat in own else 'other'}={'wolf' if wolf else 'good'}" for seat, wolf in claim.results]
        parts = ["seer"] * claim.seer + sorted(set(told)) + ["suspects"] * bool(claim.suspects)
        parts += ["own"] * (not own.isdisjoint(claim.suspects))
        what = [" ".join(parts) or "nothing"]
        aims: tuple[int, ...] = claim.suspects[:1]
    else:
        aim: Any = aim_of(act.data)
        what, aims = [], (aim,) if isinstance(aim, int) else ()
    for seat in aims:
        seen = seen_by(facts).get(seat)
        what += ["nobody"] if seat == NOBODY else ["own"] if seat in own else ["other"]
        what += ["seer"] * (seat in talk.seers) + ["accuser"] * (seat in talk.named(own))
        what += ["found"] * (seen is True) + ["cleared"] * (seen is False)
        what += [f"suspected {min(len(talk.suspected.get(seat, ())), 3)}"]
    if act.kind == VOTE and aims and aims[0]:
        what += ["as claims"] * (Claims().suspect(facts, talk, view.draws)[0] == aims[0])
    flags = situation(facts).rpartition(" ")[2] if act.kind == SPEAK else ""
    places = dict.fromkeys((facts.role, f"{facts.role} {flags}".strip()))
    return tuple(f"{place}: {act.kind} {one}" for one in what for place in places)


def latent(view: Observation) -> Mapping[str, Action]:
    """By name the speeches that may be thought of; what is no speech `Claims` does."""
    return moves(view) if SPEAK in view.facts.choices else {"act": Claims().act(view)}


MIND = Mind(moves, features)
LATENT = Mind(latent, lambda name, act, view: (situation(view.facts),))
