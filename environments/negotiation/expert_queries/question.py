"""A question to an expert: what one seat knows of a game that has gone so far; its answer is an act, or a selection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from apportion.environments.negotiation.action_encoding import SPLIT_OF
from apportion.environments.negotiation.contexts import SEATS, Context, Counts, contexts_of, pools
from apportion.environments.negotiation.rules import MOST_ACTS, Game
from apportion.foundation.errors import UnitError
from apportion.foundation.files import digest


@dataclass(frozen=True)
class Question:
    """What would you do, in this seat, with these values, after these acts?

    ``counts``: The pool. ``values``: What single items are worth to the seat; those of the other are nobody's to know,
    and in no question. ``seat``: 0 or 1. ``starter``: The seat that acted first. ``acts``: The acts so far, by number;
    where the game is over by them, it is asked what the seat takes. ``most_acts``: After which both select. Raises
    UnitError: Such a game cannot be, or it is not the seat's turn.
    """

    counts: Counts
    values: tuple[int, ...]
    seat: int
    starter: int
    acts: tuple[int, ...] = ()
    most_acts: int = MOST_ACTS

    def __post_init__(self) -> None:
        if self.seat not in range(SEATS) or self.starter not in range(SEATS):
            raise UnitError(f"seat = {self.seat}, starter = {self.starter}: they are 0 or 1")
        game = self.game
        if not game.over and game.seat != self.seat:
            raise UnitError(f"after {len(self.acts)} acts it is the turn of seat {game.seat}, not of {self.seat}")

    @cached_property
    def name(self) -> str:
        """What tells it from every other question; the same place in the same game is the same question."""
        return digest(self.record())[:16]

    @cached_property
    def context(self) -> Context:
        """A context with these values in the seat; those of the other are the first that the constraints allow.

        Raises UnitError: There is none.
        """
        found = _context_with(self.counts, self.seat, self.values)
        if found is None:
            raise UnitError(f"no game is about {self.counts} with {self.values} in seat {self.seat}")
        return found

    @property
    def game(self) -> Game:
        """The game after the acts.

        Raises UnitError: An act is not allowed.
        """
        game = Game(self.context, self.starter, self.most_acts)
        for act in self.acts:
            game.do(act)
        return game

    def problem(self, answer: int) -> str | None:
        """Why a number is no answer, in words; None: it is one."""
        game = self.game
        if not game.over:
            return game.problem(answer)
        if game.can_take(answer):
            return None
        taken = SPLIT_OF[answer] if 0 <= answer < len(SPLIT_OF) else answer
        return f"{taken} of {self.counts}: no item more than there is"

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "counts": list(self.counts),
            "values": list(self.values),
            "seat": self.seat,
            "starter": self.starter,
            "acts": list(self.acts),
            "most_acts": self.most_acts,
        }

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Question:
        """Read what `record` has written.

        Raises UnitError: It is no question.
        """
        try:
            counts, values, acts = (tuple(map(int, record[name])) for name in ("counts", "values", "acts"))
            one, two, three = counts
            seat, starter, most = (int(record[name]) for name in ("seat", "starter", "most_acts"))
        except (KeyError, TypeError, ValueError) as error:
            raise UnitError(f"no question: {type(error).__name__}: {error}") from None
        return cls((one, two, three), values, seat, starter, acts, most)


@lru_cache(maxsize=4096)
def _context_with(counts: Counts, seat: int, values: tuple[int, ...]) -> Context | None:
    every = contexts_of(counts) if counts in pools() else ()
    return next((context for context in every if context.values[seat] == values), None)
