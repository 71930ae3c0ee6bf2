"""Who acts: the protocol of every agent, and scripts made of a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from apportion.environments.environment import Action, Observation

SILENT = "none"
"""The kind of act by which one does nothing, where an environment has one."""
UNUSABLE = "unusable"
"""The key in an act's data by which an agent says that a silent act stands for what could not be used, and why."""
UNREVISED = "unrevised"
"""The key in an act's data by which an agent says that its draft stands, and why no revision could be used."""


class Agent(Protocol):
    """One who acts when it is asked; keeps nothing between steps, so that an episode can be copied, resumed, replayed.

    ``called`` names it in logs and corpora; ``paid`` says that an act costs money or a person's time, so that it is on
    the disk before it is used.
    """

    @property
    def called(self) -> str:
        """What it is called in logs and corpora."""

    @property
    def paid(self) -> bool:
        """Whether an act must never be asked for twice."""

    def act(self, view: Observation) -> Action:
        """What it does, from what it may know."""


@dataclass(frozen=True)
class ScriptedAgent:
    """An agent made of a function of its view.

    >>> Scripted("silent", lambda view: Act("none")).paid
    False
    """

    called: str
    rule: Callable[[Observation], Action]
    paid: bool = False

    def act(self, view: Observation) -> Action:
        """What the function says."""
        return self.rule(view)


@dataclass(frozen=True)
class RandomLegalAgent:
    """An agent that draws one of the allowed kinds of acts, with the same chance each and words that say so."""

    called: str = "random"
    paid: bool = False

    def act(self, view: Observation) -> Action:
        """A kind of act at random."""
        kind = view.draws.choice(view.legal)
        return Action(kind, f"(random: {kind})")
