"""What scripts of all games share, and the one that draws its acts."""

from __future__ import annotations

from random import Random as Draws
from typing import Any, ClassVar

from apportion.environments.deduction.events import SPEAK, Aim
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.environment import Action, Observation

SMALL_TALK = (
    "I have nothing to add yet.",
    "Let us hear everybody first.",
    "I am not sure about anybody so far.",
    "Somebody here is not who they say they are.",
)


class Random:
    """Any allowed act with the same chance each, an act at each of its aims; its speeches say nothing of roles."""

    called: ClassVar[str] = "random"
    paid: ClassVar[bool] = False

    def act(self, view: Observation) -> Action:
        """An act at random."""
        facts: PrivateInformation = view.facts
        draws = view.draws
        if SPEAK in facts.choices:
            return Action(SPEAK, draws.choice(SMALL_TALK))
        return aimed(*drawn(facts, draws))


def drawn(facts: PrivateInformation, draws: Draws) -> tuple[str, Aim]:
    """One of all allowed pairs of a kind of act and its aim, with the same chance each."""
    return draws.choice([(kind, aim) for kind, aims in facts.choices.items() for aim in aims or (None,)])


def aimed(kind: str, aim: Aim) -> Action:
    """The act of a kind and an aim, as a log holds it."""
    data: Any = list(aim) if isinstance(aim, tuple) else aim
    return Action(kind, "", data)
