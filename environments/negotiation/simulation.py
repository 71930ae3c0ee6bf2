"""From a choice of contexts and agents to a corpus of negotiations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.environment import Environment
from apportion.environments.negotiation.agents import ROSTER
from apportion.environments.negotiation.contexts import Context, all_contexts, read_contexts
from apportion.environments.negotiation.game import NAMES, Negotiation
from apportion.environments.negotiation.pairing import PairChoice
from apportion.environments.simulation.rule_scored import GameSimulator
from apportion.foundation.files import digest


@dataclass(frozen=True)
class NegotiationChoice(PairChoice):
    """What is negotiated, and by whom.

    ``contexts``: A file of contexts (`contexts.read_contexts`), of which the first ``games`` are played; None: drawn by
    the seed from all that are allowed, none twice.
    """

    kind: ClassVar[str] = "simulate negotiation"
    roster: ClassVar[AgentRegistry] = ROSTER
    seats = NAMES
    at_end = 1

    contexts: Path | None = None

    @cached_property
    def pool(self) -> Sequence[Context]:
        """The contexts of the file, or all that are allowed. Raises InputError: a file that cannot be read."""
        return all_contexts() if self.contexts is None else read_contexts(self.contexts)

    @cached_property
    def played(self) -> tuple[Context, ...]:
        """The contexts, in the order of play.

        Raises InputError: Nothing to play, a file that cannot be read or has fewer contexts.
        """
        self.check_some()
        found = list(self.pool)
        if self.contexts is None:
            Random(f"{self.seed}/contexts").shuffle(found)
        return self.first(found, self.contexts, "contexts")

    @property
    def given(self) -> Mapping[str, Any]:
        """A digest of the contexts of a file."""
        return {} if self.contexts is None else {"contexts": digest([[one.counts, *one.values] for one in self.played])}

    def task(self, one: Context) -> tuple[dict[str, Any], Callable[[], Environment]]:
        """A negotiation about a context."""
        return about_game(one, self.most_acts), partial(Negotiation, one, self.most_acts)


def about_game(context: Context, most_acts: int) -> dict[str, Any]:
    """What a log says of a game, besides its seed and who plays it (`game_of` reads it)."""
    return {"context": [list(context.counts), *map(list, context.values)], "most_acts": most_acts}


def game_of(about: Mapping[str, Any]) -> Negotiation:
    """The game that a log's opening says.

    Raises InputError: A context that breaks a constraint. Raises KeyError, TypeError, ValueError: It says none.
    """
    counts, one, other = (tuple(int(n) for n in half) for half in about["context"])
    a, b, c = counts
    return Negotiation(Context((a, b, c), (one, other)), int(about["most_acts"]))


SIMULATOR = GameSimulator(Negotiation.kind, game_of, ROSTER)
