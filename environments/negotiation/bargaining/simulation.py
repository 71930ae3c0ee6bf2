"""From a choice of bargains and agents to a corpus."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property, partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from apportion.environments.environment import Environment
from apportion.environments.negotiation.bargaining.agents import ROSTER
from apportion.environments.negotiation.bargaining.game import NAMES, Bargaining
from apportion.environments.negotiation.bargaining.scenario import Bargain, draw_bargain, read_bargains
from apportion.environments.negotiation.pairing import PairChoice
from apportion.environments.simulation.rule_scored import GameSimulator
from apportion.foundation.files import digest


@dataclass(frozen=True)
class BargainingChoice(PairChoice):
    """What is bargained about, and by whom; the first of a pair buys.

    ``scenarios``: A file of bargains (`scenario.read_bargains`), of which the first ``games`` are played; None: drawn
    by the seed.
    """

    kind: ClassVar[str] = "simulate bargaining"
    roster = ROSTER
    seats = NAMES

    scenarios: Path | None = None

    @cached_property
    def pool(self) -> Sequence[Bargain]:
        """The bargains of the file, or as many as are played, drawn. Raises InputError: a file that cannot be read."""
        if self.scenarios is not None:
            return read_bargains(self.scenarios)
        return tuple(draw_bargain(Random(f"{self.seed}/bargain/{number}")) for number in range(self.games))

    @cached_property
    def played(self) -> tuple[Bargain, ...]:
        """The bargains, in the order of play.

        Raises InputError: Nothing to play, a file that cannot be read or has fewer bargains.
        """
        self.check_some()
        return self.first(self.pool, self.scenarios, "bargains")

    @property
    def given(self) -> Mapping[str, Any]:
        """A digest of the bargains of a file."""
        return {} if self.scenarios is None else {"scenarios": digest([list(astuple(one)) for one in self.played])}

    def task(self, one: Bargain) -> tuple[dict[str, Any], Callable[[], Environment]]:
        """A bargain."""
        return {"bargain": list(astuple(one)), "most_acts": self.most_acts}, partial(Bargaining, one, self.most_acts)


def game_of(about: Mapping[str, Any]) -> Bargaining:
    """The game that a log's opening says.

    Raises InputError: A bargain that cannot be. Raises KeyError, TypeError, ValueError: It says none.
    """
    thing, list_price, budget, cost = about["bargain"]
    return Bargaining(Bargain(str(thing), int(list_price), int(budget), int(cost)), int(about["most_acts"]))


SIMULATOR = GameSimulator(Bargaining.kind, game_of, ROSTER)
