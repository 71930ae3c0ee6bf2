"""What a player knows, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from apportion.environments.deduction.events import Aim, Deal, Event, Stage


@dataclass(frozen=True)
class PrivateInformation:
    """What one seat knows now; holds nothing that the observation would not tell.

    Parameters
    ----------
    seat : int
        From 1.
    role, team : str
        Its own, as far as it knows them.
    stage : Stage
        Where the game stands.
    alive : tuple of int
        Seats that still play.
    events : tuple of Event
        What happened and it may know, in order; the numbers of their steps are left out (0).
    choices : mapping of str to tuple
        By kind of act what it may be aimed at now; no aim where that is empty. Nothing when it is not its turn.
    default : tuple of (str, Aim), optional
        The act for which the silent one stands now; None: doing nothing at all.
    rules : object
        The game's options.
    told : (str, str)
        The rules in words, and the own role.
    fits : callable
        The deals that a seat's facts allow, from these alone.
    """

    seat: int
    role: str
    team: str
    stage: Stage
    alive: tuple[int, ...]
    events: tuple[Event, ...]
    choices: Mapping[str, tuple[Aim, ...]]
    default: tuple[str, Aim] | None
    rules: Any
    told: tuple[str, str]
    fits: Callable[[PrivateInformation], Sequence[Deal]] = field(repr=False, compare=False)

    @property
    def phase(self) -> str:
        """Of the stage."""
        return self.stage.phase

    @cached_property
    def deals(self) -> Sequence[Deal]:
        """Every deal that fits what it knows; made when somebody asks."""
        return self.fits(self)
