"""From a choice of contexts and agents to a corpus of negotiations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Protocol

from environments.agents.agent import Agent
from environments.agents.language_model import TEMPERATURE
from environments.core import Environment
from environments.negotiation.agents import ROSTER
from environments.negotiation.contexts import Context, all_contexts, read_contexts
from environments.negotiation.game import NAMES, Negotiation
from environments.negotiation.rules import MOST_ACTS
from environments.simulate import EpisodePlan
from environments.simulation import Players, Simulation
from foundation.errors import InputError
from foundation.files import digest
from llm_client.chosen import Called, ChosenModel


@dataclass(frozen=True)
class NegotiationChoice(Simulation):
    """What is negotiated, and by whom.

    Parameters
    ----------
    agents : tuple of str
        Names of agents; every ordered pair of them plays every context, one with itself among them.
    games : int
        How many contexts are played.
    repeats : int
        Games of every context and pair, each with a seed of its own.
    seed : int
        Of everything that is drawn.
    most_acts : int
        Of a game, before both select.
    contexts : Path, optional
        A file of contexts (`contexts.read_contexts`), of which the first ``games`` are played; None: drawn by the
        seed from all that are allowed, none twice.
    chosen : ChosenModel
        The model, its server and limits, for agents that are language models.
    temperature : float
        Of language models.
    called : callable
        What a caller calls the fields of ``chosen``, for errors.
    paired : bool
        Whether all pairs of agents have the same seeds in a context, so that what is drawn makes no difference.
    """

    kind: ClassVar[str] = "simulate negotiation"

    agents: tuple[str, ...] = ("conceding",)
    games: int = 100
    repeats: int = 1
    seed: int = 0
    most_acts: int = MOST_ACTS
    contexts: Path | None = None
    chosen: ChosenModel = field(default_factory=ChosenModel)
    temperature: float = TEMPERATURE
    called: Called = str
    paired: bool = False

    @cached_property
    def players(self) -> Players:
        """Who plays."""
        return Players(ROSTER, self.agents, self.chosen, self.temperature, self.called)

    @cached_property
    def played(self) -> tuple[Context, ...]:
        """The contexts, in the order of play.

        Raises
        ------
        InputError
            Nothing to play, a file that cannot be read or has fewer contexts.
        """
        if min(len(self.agents), self.games, self.repeats) < 1:
            raise InputError(
                f"nothing to play: {len(self.agents)} agents, games = {self.games}, repeats = {self.repeats}; all are "
                "1 at least"
            )
        if self.contexts is None:
            found = list(all_contexts())
            Random(f"{self.seed}/contexts").shuffle(found)
        else:
            found = list(read_contexts(self.contexts))
        if len(found) < self.games:
            raise InputError(
                f"{self.contexts or 'allowed'}: {len(found):,} contexts, and games = {self.games:,}; play at most as "
                "many, and each of them several times (repeats)"
            )
        return tuple(found[: self.games])

    @property
    def total(self) -> int:
        """Games in all."""
        return len(self.played) * len(self.agents) ** 2 * self.repeats

    def record(self) -> dict[str, Any]:
        """What decides the corpus, as JSON; models by their names, a file of contexts by what it holds."""
        record = {
            "kind": self.kind,
            "agents": list(self.players.called_as.values()),
            **{name: getattr(self, name) for name in ("games", "repeats", "seed", "most_acts")},
        }
        if self.players.asks:
            record["temperature"] = self.temperature
        if self.contexts is not None:
            record["contexts"] = digest([[one.counts, *one.values] for one in self.played])
        if self.paired:
            record["paired"] = True
        return record

    def plans(self, agents: Mapping[str, Agent]) -> list[EpisodePlan]:
        """The games, by context, pair and repeat."""
        games = (
            (about_game(context, self.most_acts), partial(Negotiation, context, self.most_acts))
            for context in self.played
        )
        return list(pair_plans(self, NAMES, games, agents))

    def acts_of(self, environment: Environment, seat: int) -> int:
        """Half of the acts, one more for whoever starts, and the selection."""
        assert isinstance(environment, Negotiation)
        return len(range(seat != environment.starter, self.most_acts, 2)) + 1


def about_game(context: Context, most_acts: int) -> dict[str, Any]:
    """What a log says of a game, besides its seed and who plays it (`simulator.game_of` reads it)."""
    return {"context": [list(context.counts), *map(list, context.values)], "most_acts": most_acts}


class PairChoice(Protocol):
    """What `pair_plans` needs of a choice: its names, its repeats, and how it draws."""

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of agents."""

    @property
    def repeats(self) -> int:
        """Games of every task and pair."""

    @property
    def seed(self) -> int:
        """Of everything that is drawn."""

    @property
    def paired(self) -> bool:
        """Whether all pairs of agents have the same seeds in a task."""

    @property
    def players(self) -> Players:
        """Who plays."""


def pair_plans(
    choice: PairChoice,
    names: Sequence[str],
    games: Iterable[tuple[Mapping[str, Any], Callable[[], Environment]]],
    agents: Mapping[str, Agent],
) -> Iterator[EpisodePlan]:
    """Every ordered pair of agents in every game, repeated; ``games`` has what the log says of each, and makes it.

    Parameters
    ----------
    choice : PairChoice
        Who plays, how often, and by which seed.
    names : sequence of str
        Of the two seats.
    games : iterable of (mapping, callable)
        In the order of play.
    agents : mapping of str to Agent
        By the names of the choice.
    """
    called = choice.players.called_as
    for number, (about, make) in enumerate(games):
        for pair in product(choice.agents, repeat=len(names)):
            seats = {name: agents[agent] for name, agent in zip(names, pair, strict=True)}
            who = "-".join(called[agent] for agent in pair)
            for repeat in range(choice.repeats):
                seed = f"{choice.seed}/{number}-{repeat}" if choice.paired else f"{choice.seed}/{number}-{who}-{repeat}"
                yield EpisodePlan(f"{number}-{who}-{repeat}", make, seats, seed, about)
