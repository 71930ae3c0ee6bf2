"""What an agent reads: its own part, what it may see of the others, and what was done (SOTOPIA, section 2.1).

Everything that somebody else wrote stands as JSON text, so that no word of it can end its place or pose as an
instruction. Others are called by their names only where these are known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from apportion.environments.actions import Action
from apportion.environments.sotopia.goal_checks import PHYSICAL, SeatAct, Terms
from apportion.environments.sotopia.tasks import FIELDS, Task, Visibility, filled_fields, seen
from apportion.llm_client.prompts.data import data_json

SPEAK, NON_VERBAL, NONE, LEAVE = "speak", "non-verbal communication", "none", "leave"
KINDS = (SPEAK, NON_VERBAL, PHYSICAL, NONE, LEAVE)
"""The five acts of section 2.2 and C.1."""
_KIND = re.compile(rf"\[({'|'.join(map(re.escape, KINDS))})\] ?", re.IGNORECASE)


@dataclass(frozen=True)
class RoleInformation:
    """What one agent knows before the first act.

    ``called`` says by seat what this agent calls each other; ``others`` by seat the fields of each that it sees, in the
    same order (its own seat: everything); ``terms`` are its own side of what rules can check, for scripts.
    """

    seat: int
    called: tuple[str, ...]
    profiles: tuple[dict[str, object], ...]
    context: str
    goal: str
    relationships: tuple[str, ...]
    terms: Terms | None


def part_of(task: Task, seat: int, rule: Visibility) -> RoleInformation:
    """What the agent of one seat knows: nothing in it depends on a field that is hidden from it."""
    own = task.characters[seat]
    profiles, relationships, called = [], [], []
    for other, character in enumerate(task.characters):
        relationship = task.between(own, character)
        visible = filled_fields(own, FIELDS) if other == seat else seen(character, relationship, rule)
        profiles.append(visible)
        relationships.append("" if other == seat else relationship.words)
        called.append(str(visible.get("name", _unnamed(other, len(task.characters)))))
    return RoleInformation(
        seat, tuple(called), tuple(profiles), task.scenario.seen_by(seat), task.scenario.goal(seat),
        tuple(relationships), task.scenario.terms and task.scenario.terms.side(seat),
    )  # fmt: skip


def _unnamed(seat: int, seats: int) -> str:
    return "the other person" if seats == 2 else f"person {seat + 1}"


def in_words(part: RoleInformation, acts: Sequence[SeatAct], most_acts: int, legal: Sequence[str]) -> str:
    """The observation as text.

    ``part``: What the agent knew before. ``acts``: What was done so far, each with the seat that did it. ``most_acts``:
    Acts after which the episode ends. ``legal``: The kinds of acts that the agent may do now; empty when it is not its
    turn. Returns: Lines of text.
    """
    lines = [f"Scenario: {data_json(part.context)}"]
    if part.terms is not None and part.terms.deal is not None:
        lines.append(
            f"What binds: an offer is made by the {PHYSICAL} {data_json(part.terms.deal.binds())} and accepted by the "
            f"{PHYSICAL} {data_json('accept')}. Words alone bind nobody; the first agreement stands."
        )
    lines.append(f"You are {data_json(part.profiles[part.seat])}")
    for seat, profile in enumerate(part.profiles):
        if seat != part.seat:
            known = f"{data_json(profile)}" if profile else "you know nothing of this person"
            lines.append(f"{part.called[seat]} (you: {part.relationships[seat]}): {known}")
    lines += [f"Your goal: {data_json(part.goal)}", "The goals of others are unknown to you.", "What was done so far:"]
    for number, (seat, act) in enumerate(acts):
        lines.append(f"#{number} {'You' if seat == part.seat else part.called[seat]} {done(act)}")
    if not acts:
        lines.append("nothing yet")
    if legal:
        lines.append(f"It is your turn (act {len(acts) + 1} of {most_acts} at most). You may: {', '.join(legal)}.")
    return "\n".join(lines)


def done(act: Action) -> str:
    """An act in words, what was said as JSON.

    >>> done(Action("speak", "Hi!")), done(Action("none"))
    ('said: "Hi!"', 'did nothing')
    """
    if act.kind == SPEAK:
        return f"said: {data_json(act.text)}"
    if act.kind == NONE:
        return "did nothing"
    if act.kind == LEAVE:
        return "left the conversation"
    return f"[{act.kind}] {data_json(act.text)}"


def act_of(text: str) -> tuple[str, str]:
    """The kind of act that an utterance is, and its words: every act but speech has its kind before it.

    >>> act_of("[physical action] waves"), act_of("[sic] Hello")
    (('physical action', 'waves'), ('speak', '[sic] Hello'))
    """
    kind = _KIND.match(text)
    return (kind[1].lower(), text[kind.end() :]) if kind else (SPEAK, text)
