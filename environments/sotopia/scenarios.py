"""Where and why they meet: a scenario with private goals and the constraints on who can play it (section 2.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apportion.corpus.sotopia_markup import EVERYBODY, seat_viewer, shown_to
from apportion.environments.sotopia.characters import Character
from apportion.environments.sotopia.goal_checks import Terms
from apportion.environments.sotopia.visibility import Relationship
from apportion.foundation.errors import InputError


@dataclass(frozen=True)
class Scenario:
    """What everybody knows, and each seat's goal.

    Parameters
    ----------
    name : str
        Its id.
    context : str
        Place, time and whatever everybody knows; parts may be marked for one reader
        (`apportion.corpus.sotopia_markup`).
    goals : tuple of str
        By seat; private.
    relationship : Relationship
        How the characters have to know each other.
    ages : tuple of (int, int), optional
        By seat, the youngest and the oldest that it suits.
    occupations : tuple of tuple of str
        By seat, the occupations that it suits; an empty one suits all.
    terms : Terms, optional
        What rules can check of the goals.
    source : str
        Where it comes from.

    Raises
    ------
    InputError
        Fewer than two goals, an empty one, or an empty context.
    """

    name: str
    context: str
    goals: tuple[str, ...]
    relationship: Relationship
    ages: tuple[tuple[int, int], ...] = ()
    occupations: tuple[tuple[str, ...], ...] = ()
    terms: Terms | None = None
    source: str = ""

    def __post_init__(self) -> None:
        if not self.public.strip():
            raise InputError(f"scenario {self.name!r}: the context is empty; say where and why they meet")
        if len(self.goals) < 2:
            raise InputError(f"scenario {self.name!r}: {len(self.goals)} goals; every agent has one, two at least")
        for seat, goal in enumerate(self.goals):
            if not shown_to(goal, seat_viewer(seat)).strip():
                raise InputError(f"scenario {self.name!r}: the goal of agent {seat + 1} is empty; every agent has one")

    def goal(self, seat: int) -> str:
        """A seat's goal as its agent reads it, without the marks around hints."""
        return shown_to(self.goals[seat], seat_viewer(seat))

    def seen_by(self, seat: int) -> str:
        """The context as the agent of a seat reads it."""
        return shown_to(self.context, seat_viewer(seat))

    @property
    def public(self) -> str:
        """The context as everybody reads it."""
        return shown_to(self.context, EVERYBODY)

    def broken(self, characters: Sequence[Character]) -> str | None:
        """Which constraint characters in these seats break, in words; None: none."""
        return next(self._broken(characters), None)

    def _broken(self, characters: Sequence[Character]) -> Iterator[str]:
        for seat, (character, (youngest, oldest)) in enumerate(zip(characters, self.ages, strict=False), 1):
            if character.age is not None and not youngest <= character.age <= oldest:
                yield f"agent {seat}, {character.name}, is {character.age}; allowed are {youngest} to {oldest}"
        for seat, (character, suits) in enumerate(zip(characters, self.occupations, strict=False), 1):
            own = character.occupation.casefold()
            if suits and not any(occupation.casefold() in own for occupation in suits):
                yield f"agent {seat}, {character.name}, is {character.occupation!r}; allowed are {', '.join(suits)}"
