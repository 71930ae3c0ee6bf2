"""From a choice of bargains and agents to a corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from environments.agents.agent import Agent
from environments.agents.language_model import TEMPERATURE
from environments.core import Environment
from environments.negotiation.bargaining.agents import ROSTER
from environments.negotiation.bargaining.bargain import Bargain, draw_bargain
from environments.negotiation.bargaining.game import NAMES, Bargaining
from environments.negotiation.bargaining.scenarios import read_bargains
from environments.negotiation.rules import MOST_ACTS
from environments.negotiation.simulation import pair_plans
from environments.simulate import EpisodePlan
from environments.simulation import Players, Simulation
from foundation.errors import InputError
from foundation.files import digest
from llm_client.chosen import Called, ChosenModel


@dataclass(frozen=True)
class BargainingChoice(Simulation):
    """What is bargained about, and by whom; the fields are those of `NegotiationChoice`, but for the file.

    Parameters
    ----------
    scenarios : Path, optional
        A file of bargains (`scenarios.read_bargains`), of which the first ``games`` are played; None: drawn by the
        seed.
    """

    kind: ClassVar[str] = "simulate bargaining"

    agents: tuple[str, ...] = ("conceding",)
    games: int = 100
    repeats: int = 1
    seed: int = 0
    most_acts: int = MOST_ACTS
    scenarios: Path | None = None
    chosen: ChosenModel = field(default_factory=ChosenModel)
    temperature: float = TEMPERATURE
    called: Called = str
    paired: bool = False

    @cached_property
    def players(self) -> Players:
        """Who plays."""
        return Players(ROSTER, self.agents, self.chosen, self.temperature, self.called)

    @cached_property
    def played(self) -> tuple[Bargain, ...]:
        """The bargains, in the order of play.

        Raises
        ------
        InputError
            Nothing to play, a file that cannot be read or has fewer bargains.
        """
        if min(len(self.agents), self.games, self.repeats) < 1:
            raise InputError(
                f"nothing to play: {len(self.agents)} agents, games = {self.games}, repeats = {self.repeats}; all are "
                "1 at least"
            )
        if self.scenarios is None:
            return tuple(draw_bargain(Random(f"{self.seed}/bargain/{number}")) for number in range(self.games))
        found = read_bargains(self.scenarios)
        if len(found) < self.games:
            raise InputError(
                f"{self.scenarios}: {len(found):,} bargains, and games = {self.games:,}; play at most as many, and "
                "each of them several times (repeats)"
            )
        return found[: self.games]

    @property
    def total(self) -> int:
        """Games in all."""
        return len(self.played) * len(self.agents) ** 2 * self.repeats

    def record(self) -> dict[str, Any]:
        """What decides the corpus, as JSON; models by their names."""
        record = {
            "kind": self.kind,
            "agents": list(self.players.called_as.values()),
            **{name: getattr(self, name) for name in ("games", "repeats", "seed", "most_acts")},
        }
        if self.scenarios is not None:
            record["scenarios"] = digest([list(astuple(one)) for one in self.played])
        if self.players.asks:
            record["temperature"] = self.temperature
        if self.paired:
            record["paired"] = True
        return record

    def plans(self, agents: Mapping[str, Agent]) -> list[EpisodePlan]:
        """The games, by bargain, pair and repeat; the first of a pair buys."""
        games = (
            (
                {"bargain": list(astuple(bargain)), "most_acts": self.most_acts},
                partial(Bargaining, bargain, self.most_acts),
            )
            for bargain in self.played
        )
        return list(pair_plans(self, NAMES, games, agents))

    def acts_of(self, environment: Environment, seat: int) -> int:
        """Half of the acts, one more for whoever starts."""
        assert isinstance(environment, Bargaining)
        return len(range(seat != environment.starter, self.most_acts, 2))
