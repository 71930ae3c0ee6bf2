"""A person plays an episode, which becomes a session of a corpus; more of them go into the same folder."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from apportion.corpus.writer import ImportReport, check_free, claim, folder_for, place
from apportion.environments.actions import MOST_UNUSABLE
from apportion.environments.agents.agent import Agent
from apportion.environments.agents.language_model import TEMPERATURE
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.collect_episodes import CollectedEpisode, CollectionResult, EpisodePlan, simulate
from apportion.environments.corpus_export import to_corpus
from apportion.environments.environment import Environment, Observation
from apportion.environments.episode_log import LOG, MOST, LoggedEpisode, read_log, unusable_told
from apportion.environments.restored_episode import MissingAgent
from apportion.environments.terminal.console import Screen
from apportion.environments.terminal.human_agent import HumanAgent, Renderer
from apportion.foundation.errors import ApportionError, InputError, UnitError
from apportion.llm_client.model_spec import Called, ModelSpec

_NAMED = re.compile(r"[\w.-]{1,40}")


@dataclass(frozen=True)
class PersonPlayed:
    """What came of it.

    ``again`` says that the episode was over before, so that nobody was asked for anything; ``acts`` how many it has;
    ``scores`` are the person's own by the judge ``rules``, where it knows; ``begun`` counts other episodes of the
    folder that are not over; ``report`` is the whole corpus'; ``unusable`` tells others' acts that were none, and
    whether the episode has no score for it.
    """

    again: bool
    acts: int
    scores: Mapping[str, float]
    begun: int
    report: ImportReport
    unusable: str = ""


@dataclass(frozen=True, kw_only=True)
class HumanPlay:
    """What a person plays, and with whom; a subclass for each environment.

    ``person``: What the person is called in the log and the corpus; no agent's name. ``seed``: Of everything that is
    drawn; another one gives another episode. ``most_unusable``: As `EpisodePlan` has it.
    ``chosen``, ``temperature``, ``called``: The language model of agents that are one; what a caller calls these
    fields, for errors.
    """

    person: str = "person"
    seed: int = 0
    chosen: ModelSpec = field(default_factory=ModelSpec)
    temperature: float = TEMPERATURE
    most_unusable: float = MOST_UNUSABLE
    called: Called = str
    note: ClassVar[str]
    """What is said of the corpus."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """What makes the corpus, as ``play sotopia``."""

    @property
    @abstractmethod
    def agents(self) -> AgentRegistry:
        """Who can play the other seats."""

    @property
    @abstractmethod
    def partners(self) -> tuple[str, ...]:
        """The names of those who do."""

    @property
    @abstractmethod
    def renderer(self) -> Renderer:
        """How the environment is shown to the person."""

    @property
    @abstractmethod
    def seat_name(self) -> str:
        """The environment's agent whom the person plays."""

    @abstractmethod
    def check(self) -> None:
        """Raise InputError where this cannot be played."""

    @abstractmethod
    def plan(self, person: HumanAgent, agents: Mapping[str, Agent]) -> EpisodePlan:
        """The episode, with everybody in their seats."""

    @abstractmethod
    def environment_of(self, logged: LoggedEpisode) -> Environment:
        """The environment of any episode of the kind; raises as `_replayed` has it."""

    def hidden(self) -> AbstractContextManager[None]:
        """Within it errors name nobody whom the person may not know."""
        return nullcontext()

    def check_person(self) -> None:
        """Hold what the person is called to what a corpus can name.

        Raises InputError: it is no such name, or an agent's.
        """
        name, called = self.person, self.called("person")
        if not _NAMED.fullmatch(name):
            raise InputError(f"{called} {name!r}: give 1 to 40 letters, digits, dots, hyphens or underscores")
        if name in (*self.agents.registry.names(), *self.agents.form.prompts.names()):
            raise InputError(f"{called} {name!r} is an agent's name; a person needs another one")

    def play(self, out: Path, screen: Screen) -> PersonPlayed:
        """Let the person play to the end, from where the episode stands in the log of ``out``.

        An act of the person, as every reply that is paid for, is on the disk before it is used: stopped or killed at
        any moment, the same call goes on, and nobody is asked again for what was done.

        ``out``: The corpus' folder: a new one, or one in which people have played the same kind before. ``screen``:
        Where the person reads and types; shows nothing that the seat may not know. Raises InputError: It cannot be
        played (`check`); the folder holds something else, its log is damaged, or an agent cannot be asked. Raises
        EOFError: The person stops, or the input has ended. Raises StoppedError: The budget of a language model is
        spent. Raises UnitError: An agent failed; the same call goes on with the episode.
        """
        self.check()
        record = {"kind": self.kind}
        check_free(out, record)
        cache = self.chosen.cache_in(out)
        asked = self.agents.agents_of(self.partners, self.chosen, cache, self.called, self.temperature)
        with folder_for(out), asked as agents, self.hidden():
            person = HumanAgent(screen, self.renderer, self.person)
            plan = replace(self.plan(person, agents), most_unusable=self.most_unusable)
            logged = read_log(out / LOG).get(plan.name)
            again = logged is not None and logged.closing is not None
            claim(out, record)
            begun = plan.make()
            begun.reset(plan.seed)
            person.see_the_beginning(Observation(begun, self.seat_name))
            played = _played(plan, out / LOG)
            person.see_the_end(Observation(played.environment, self.seat_name))
            over, unfinished = self._in_the_folder(out / LOG)
            made = to_corpus(CollectionResult(over))
            outcome = played.environment.outcome()[self.seat_name]
            scores = {name: value for name, value in outcome.items() if value is not None}
            report = place(self.kind, out, replace(made, notes=(self.note, *made.notes)), record)
            unusable = unusable_told([read_log(out / LOG)[plan.name]])
            return PersonPlayed(again, len(played.environment.steps), scores, unfinished, report, unusable)

    def _in_the_folder(self, log: Path) -> tuple[tuple[CollectedEpisode, ...], int]:
        """The episodes of a log that are over, replayed without asking anybody, and how many are not."""
        over, begun = [], 0
        for name, logged in read_log(log).items():
            if logged.closing is None:
                begun += 1
                continue
            try:
                over.append(self._replayed(name, logged))
            except (ApportionError, KeyError, TypeError, ValueError) as error:
                raise InputError(
                    f"{log}: episode {name!r} cannot be played again ({error}). Name another folder"
                ) from None
        return tuple(over), begun

    def _replayed(self, name: str, logged: LoggedEpisode) -> CollectedEpisode:
        environment, seed = self.environment_of(logged), logged.opening["seed"]
        agents = {seat: MissingAgent(called, "its episode is over") for seat, called in logged.opening["agents"]}
        environment.replay(seed, logged.steps)
        share = (logged.closing or {}).get(MOST, MOST_UNUSABLE)
        return CollectedEpisode(EpisodePlan(name, lambda: environment, agents, seed, None, share), environment)


def _played(plan: EpisodePlan, log: Path) -> CollectedEpisode:
    simulated = simulate([plan], log)
    for failed in simulated.failed:
        raise UnitError(f"the episode could not go on: {failed.message}. What was played is kept")
    (played,) = simulated.played
    return played
