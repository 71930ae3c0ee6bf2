"""A choice of what is played by whom, of any environment: played to a corpus, or looked at before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from apportion.corpus.writer import ImportReport, check_free, claim, folder_for, place
from apportion.environments.agents.agent import Agent
from apportion.environments.agents.language_model import TEMPERATURE
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.collect_episodes import EpisodePlan, simulate
from apportion.environments.corpus_export import to_corpus
from apportion.environments.environment import Environment
from apportion.environments.episode_log import LOG
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import Called, ModelSpec


@dataclass(frozen=True)
class Players:
    """Who plays in a simulation, by name, and the language model that plays some of them.

    Parameters
    ----------
    roster : Roster
        The agents that there are.
    names : tuple of str
        Those that play.
    chosen : ChosenModel
        The model, its server and limits, for agents that are language models.
    temperature : float
        Of language models.
    called : callable
        What a caller calls the fields of ``chosen``, for errors.
    """

    roster: AgentRegistry
    names: tuple[str, ...]
    chosen: ModelSpec = field(default_factory=ModelSpec)
    temperature: float = TEMPERATURE
    called: Called = str

    @cached_property
    def called_as(self) -> Mapping[str, str]:
        """By agent its name with its model, as in logs.

        Raises
        ------
        InputError
            Two have the same, there is none of a name, or no model was chosen for it.
        """
        names: dict[str, str] = {}
        for agent in self.names:
            name = self.roster.called_as(agent, self.chosen, self.called, self.temperature)
            if agent in names or name in names.values():
                raise InputError(f"agents {', '.join(self.names)}: {name!r} is there twice; name each agent once")
            names[agent] = name
        return names

    @property
    def asks(self) -> bool:
        """Whether a language model plays."""
        return any(self.roster.asked_by(agent, self.chosen, self.called, self.temperature) for agent in self.names)

    def agents(self, cache: Path) -> AbstractContextManager[Mapping[str, Agent]]:
        """The agents by their names, replies kept in ``cache``; raises as `AgentRegistry.agents_of`."""
        return self.roster.agents_of(self.names, self.chosen, cache, self.called, self.temperature)


class Simulation(ABC):
    """What is played by whom; a choice of one environment's games is one of these."""

    kind: ClassVar[str]
    """What makes the corpus, as ``simulate sotopia``."""

    @property
    @abstractmethod
    def players(self) -> Players:
        """Who plays."""

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """What decides the corpus, as JSON; models by their names."""

    @abstractmethod
    def plans(self, agents: Mapping[str, Agent]) -> list[EpisodePlan]:
        """The episodes, played by ``agents`` (by the names of the choice); raises InputError: nothing to play."""

    @property
    @abstractmethod
    def total(self) -> int:
        """How many episodes there are."""

    @abstractmethod
    def acts_of(self, environment: Environment, seat: int) -> int:
        """How many acts a seat of one of its episodes has at most."""

    @property
    def notes(self) -> Sequence[str]:
        """What a person has to know of what is played."""
        return ()


def write_corpus(
    simulation: Simulation,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> ImportReport:
    """Play, and write the corpus with its log.

    Raises
    ------
    InputError
        The folder holds something else, an unknown name, a damaged log, nothing to play, a model that cannot be asked.
    StoppedError
        The budget is spent; the log keeps what was played, and the same call goes on.
    """
    record, players = simulation.record(), simulation.players
    total = simulation.total
    if not overwrite:
        check_free(out, record)
    with folder_for(out), players.agents(players.chosen.cache_in(out)) as agents:
        if overwrite:
            (out / LOG).unlink(missing_ok=True)
        claim(out, record)
        concurrency = min(players.chosen.concurrency, total) if players.asks else 1
        simulated = simulate(simulation.plans(agents), out / LOG, concurrency=concurrency, progress=progress)
    made = to_corpus(simulated)
    notes = ("simulated, not recorded: no person spoke", *simulation.notes, *made.notes)
    return place(simulation.kind, out, replace(made, notes=notes), record)
