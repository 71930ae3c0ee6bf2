"""A choice of what is played by whom, of any environment: played to a corpus, or looked at before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from apportion.corpus.writer import ImportReport, check_free, claim, folder_for, place
from apportion.environments.actions import MOST_UNUSABLE
from apportion.environments.agents.agent import Agent
from apportion.environments.agents.language_model import TEMPERATURE, TOKENS_AN_ACT
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.collect_episodes import EpisodePlan, simulate
from apportion.environments.corpus_export import to_corpus
from apportion.environments.environment import Environment, Observation
from apportion.environments.episode_log import LOG
from apportion.environments.rollout_preview import AsksForActs
from apportion.foundation.errors import InputError
from apportion.llm_client.cost.estimate import CostUpperBound
from apportion.llm_client.cost.prices import find_price
from apportion.llm_client.cost.tokens import estimated_input_tokens
from apportion.llm_client.errors import prefixed
from apportion.llm_client.model_spec import Called, ModelSpec
from apportion.llm_client.preview import Preview
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings


@dataclass(frozen=True)
class Players:
    """Who plays in a simulation, by name, and the language model that plays some of them.

    ``roster``: The agents that there are. ``names``: Those that play. ``chosen``: The model, its server and limits, for
    agents that are language models. ``temperature``: Of language models. ``called``: What a caller calls the fields of
    ``chosen``, for errors.
    """

    roster: AgentRegistry
    names: tuple[str, ...]
    chosen: ModelSpec = field(default_factory=ModelSpec)
    temperature: float = TEMPERATURE
    called: Called = str

    @cached_property
    def called_as(self) -> Mapping[str, str]:
        """By agent its name with its model, as in logs.

        Raises InputError: two have the same, there is none of a name, or no model was chosen for it.
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
    most_unusable: float = MOST_UNUSABLE,
    progress: Callable[[int], None] | None = None,
) -> ImportReport:
    """Play, and write the corpus with its log; ``most_unusable`` as `EpisodePlan` has it.

    Raises InputError: The folder holds something else, an unknown name, a damaged log, nothing to play, a model that
    cannot be asked. Raises StoppedError: The budget is spent; the log keeps what was played, and the same call goes on.
    """
    record, players = simulation.record(), simulation.players
    if most_unusable != MOST_UNUSABLE:
        record["most_unusable"] = most_unusable
    total = simulation.total
    if not overwrite:
        check_free(out, record)
    with folder_for(out), players.agents(players.chosen.cache_in(out)) as agents:
        if overwrite:
            (out / LOG).unlink(missing_ok=True)
        claim(out, record)
        concurrency = min(players.chosen.concurrency, total) if players.asks else 1
        plans = [replace(plan, most_unusable=most_unusable) for plan in simulation.plans(agents)]
        simulated = simulate(plans, out / LOG, concurrency=concurrency, progress=progress)
    made = to_corpus(simulated)
    notes = ("simulated, not recorded: no person spoke", *simulation.notes, *made.notes)
    return place(simulation.kind, out, replace(made, notes=notes), record)


MEASURED = 100
"""Episodes, at most, whose first request is measured; the rest are taken to be as long."""


@runtime_checkable
class Asking(AsksForActs, Agent, Protocol):
    """An agent that asks a language model for its acts."""

    @property
    def settings(self) -> LLMSettings:
        """The model, and how it is asked."""


@dataclass(frozen=True)
class _First:
    """The first request of a seat: to whom, what, how many there are at most, and acts of the whole episode.

    ``tokens``: about what a reply takes. ``begins``: whether it is this seat's turn at the beginning, so that exactly
    this is sent.
    """

    settings: LLMSettings
    request: ChatRequest
    count: int
    acts: int
    tokens: int
    begins: bool


def price(simulation: Simulation) -> list[CostUpperBound]:
    """By model, what a choice would take at most; nothing for scripted agents. Asks nobody.

    Raises InputError: an unknown name, or a price table that cannot be read.
    """
    by_model: dict[str, list[_First]] = {}
    counts: dict[str, int] = {}
    for first in _first_requests(simulation):
        model = first.settings.model
        counts[model] = counts.get(model, 0) + first.count
        measured = by_model.setdefault(model, [])
        if len(measured) < MEASURED:
            measured.append(first)
    return [_priced(simulation, measured, counts[model]) for model, measured in by_model.items()]


def preview(simulation: Simulation, count: int) -> Preview:
    """The first ``count`` requests: of each seat of a language model, what it would be asked before anybody has acted.

    Seats that act first come first. What the others are asked holds what was said before; the notes say how many of
    those shown are so.

    Raises InputError: an unknown name, or no language model plays.
    """
    asked = sorted(_first_requests(simulation), key=lambda first: not first.begins)
    if not asked:
        raise InputError("no language model plays, so nothing would be sent")
    called, llm = simulation.players.called, asked[0].settings
    notes = ["first requests alone: later ones hold what was said before"]
    shown = asked[:count]
    waiting = sum(not first.begins for first in shown)
    if waiting:
        notes.append(
            f"{waiting} of those shown are of seats whose turn it is not yet: theirs will hold what was said, too"
        )
    consent = f"{called('allow_host')} {llm.consent_host or llm.host}"
    requests = tuple(first.request for first in shown)
    return Preview(llm, requests, len(asked), consent, called("preview"), tuple(notes))


def _first_requests(simulation: Simulation) -> Iterator[_First]:
    """Of every seat of a language model: its settings, its first request, and how many there are at most."""
    for plan in simulation.plans(_agents(simulation)):
        environment = plan.make()
        environment.reset(plan.seed)
        acts = [simulation.acts_of(environment, seat) for seat in range(len(environment.agents))]
        for seat, name in enumerate(environment.agents):
            agent = plan.agents[name]
            if isinstance(agent, Asking):
                request = agent.request(Observation(environment, name))
                most, begins = acts[seat] * agent.requests_an_act, name in environment.acting()
                yield _First(agent.settings, request, most, sum(acts), agent.tokens_an_act, begins)


def _agents(simulation: Simulation) -> Mapping[str, Agent]:
    """Those that play, language models without a client: nobody acts."""
    players = simulation.players
    found: dict[str, Agent] = {}
    for name in players.called_as:
        asked = players.roster.asked_by(name, players.chosen, players.called, players.temperature)
        found[name] = players.roster.scripted(name) if asked is None else players.roster.asking(name, asked, _nobody)
    return found


def _priced(simulation: Simulation, first: list[_First], count: int) -> CostUpperBound:
    opening = sum(estimated_input_tokens(one.request) for one in first) / len(first)
    acts = sum(one.acts for one in first) / len(first)
    # On average half of the acts are there to be read.
    input_tokens = round(count * (opening + acts / 2 * TOKENS_AN_ACT))
    output_tokens = round(count * sum(one.tokens for one in first) / len(first))
    players, llm = simulation.players, first[0].settings
    with prefixed(players.called("model")):
        paid = find_price(llm.model, players.chosen.prices)
    usd = None if paid is None else paid.usd(input_tokens, output_tokens)
    return CostUpperBound(llm.model, count, input_tokens, output_tokens, usd, llm.provider == "recorded")


def _nobody(request: ChatRequest) -> ChatReply:
    raise AssertionError("a look before the work asks nobody")
