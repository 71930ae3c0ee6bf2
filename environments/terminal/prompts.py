"""What an environment shows a person, and what the person can type there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from apportion.environments.environment import Action, Observation
from apportion.environments.terminal.commands import Command


class Rendered(NamedTuple):
    """Something shown: our label, and words of whomever behind it; nothing is shown where both are empty.

    A label holds others' words (names) only as `printable`. ``own`` marks what the person has done, who need not
    read it again right after typing it.
    """

    label: str
    text: str = ""
    own: bool = False


class Renderer(Protocol):
    """How one environment is told to a person; reads nothing but the person's view."""

    def opening(self, view: Observation) -> Sequence[Rendered]:
        """What the person knows from before the first act."""

    def events(self, view: Observation) -> Sequence[Rendered]:
        """What was done so far and this person may know; only grows from step to step."""

    def prompt(self, view: Observation) -> str:
        """What stands before the line that the person types."""

    def commands(self, view: Observation) -> Mapping[str, Command]:
        """By name, what the person may do now."""

    def plain(self, view: Observation) -> str | None:
        """The command that a line without a name means; None: there is none."""

    def understood(self, view: Observation, act: Action) -> Action:
        """The act that a command and its words mean here; raises LineError where they mean none."""


class PlainTelling:
    """Any environment: its observation as it is, and a command for each kind of act."""

    def opening(self, view: Observation) -> Sequence[Rendered]:
        """Nothing: it is part of what is told at every step."""
        return ()

    def events(self, view: Observation) -> Sequence[Rendered]:
        """The observation of this step; those of the steps before are no more."""
        return [*([Rendered("")] * view.step), Rendered("", view.text)]

    def prompt(self, view: Observation) -> str:
        """A sign that it is the person's turn."""
        return "> "

    def commands(self, view: Observation) -> Mapping[str, Command]:
        """Each kind of act that is allowed, with or without words."""
        meaning = "one of the acts that are allowed"
        return {kind.casefold().replace(" ", "-"): Command(kind, meaning, "[TEXT]") for kind in view.legal}

    def plain(self, view: Observation) -> str | None:
        """The only kind there is."""
        (only, *others) = self.commands(view)
        return None if others else only

    def understood(self, view: Observation, act: Action) -> Action:
        """The act as it is."""
        return act
