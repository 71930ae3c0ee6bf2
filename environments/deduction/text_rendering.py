"""What a person who plays reads, and can type: words in a discussion, numbers of players elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from apportion.environments.actions import SILENT
from apportion.environments.deduction.base_game import Deduction
from apportion.environments.deduction.events import SPEAK, done, numbers_in
from apportion.environments.deduction.observation import SAY, PrivateInformation, instead, listed
from apportion.environments.environment import Action, Observation
from apportion.environments.terminal.console import LineError
from apportion.environments.terminal.human_agent import Command, Rendered

NOTHING = "nothing"
"""The command of the silent act."""
_ONE = re.compile(r"[^\d-]*\d{1,3}\D*")
"""One number and any words: the first of several, or what stands behind a sign, may not be what was meant."""


@dataclass(frozen=True)
class DeductionRenderer:
    """A `Telling` of what `Deduction.facts` gives a seat; of the game itself only its words are read."""

    game: type[Deduction]

    def opening(self, view: Observation) -> list[Rendered]:
        """The rules and the person's role."""
        rules, role = _facts(view).told
        return [Rendered("The rules: ", rules), Rendered("", role)]

    def events(self, view: Observation) -> list[Rendered]:
        """What happened and the person may know, an entry each."""
        facts, told = _facts(view), []
        for event in facts.events:
            own = event.seat == facts.seat
            if event.kind == SPEAK:
                told.append(Rendered(f"{event.stage}, {'You' if own else f'Player {event.seat}'}: ", event.text, own))
            else:
                told.append(Rendered(f"{event.stage}: ", done(event, facts.seat)))
        return told

    def prompt(self, view: Observation) -> str:
        """Where the game stands, and what is to be done."""
        facts = _facts(view)
        return f"{facts.stage}, {' or '.join(map(_typed, facts.choices))}> "

    def commands(self, view: Observation) -> Mapping[str, Command]:
        """The kinds of acts of this phase, and the silent one."""
        facts, commands = _facts(view), {}
        for kind, aims in facts.choices.items():
            meaning = SAY if kind == SPEAK else self.game.meanings[kind]
            numbers = f": {listed(aims)}" if aims else ""
            commands[_typed(kind)] = Command(kind, meaning + numbers, _words(kind, facts))
        commands[NOTHING] = Command(SILENT, instead(facts, self.game.words))
        return commands

    def plain(self, view: Observation) -> str | None:
        """Words in a discussion; numbers, where one kind of act alone takes them."""
        choices = _facts(view).choices
        (first, *others) = choices
        return None if others or not (choices[first] or first == SPEAK) else _typed(first)

    def understood(self, view: Observation, act: Action) -> Action:
        """The act, aimed at the players whose numbers were typed.

        Raises LineError: there are none; or where one is needed several, or a sign before it.
        """
        facts = _facts(view)
        if act.kind == SPEAK:
            return act
        aims = facts.choices.get(act.kind, ())
        data = numbers_in(act.text, tuple(aim for aim in aims if aim != 0)) if aims else None
        several = bool(aims) and _words(act.kind, facts) == "NUMBER" and not _ONE.fullmatch(act.text)
        if several or (aims and not data and data != 0):
            raise LineError(f"which player? Type /{_typed(act.kind)} and one of: {listed(aims)}")
        return Action(act.kind, "", data)


def _typed(kind: str) -> str:
    return kind.casefold().replace("_", "-").replace(" ", "-")


def _words(kind: str, facts: PrivateInformation) -> str:
    aims = facts.choices[kind]
    if kind == SPEAK:
        return "TEXT"
    return "" if not aims else "NUMBERS" if any(type(aim) is tuple for aim in aims) else "NUMBER"


def _facts(view: Observation) -> PrivateInformation:
    facts: PrivateInformation = view.facts
    return facts
