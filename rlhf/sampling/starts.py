"""What a policy plays while it is trained: which episodes of a world, in whose seat, and who has the others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, field_validator

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.actions import MOST_UNUSABLE
from apportion.environments.agents.agent import Agent
from apportion.environments.agents.language_model import TEMPERATURE
from apportion.environments.agents.registry import TOO_LONG, AgentRegistry
from apportion.environments.deduction.base_game import WIN
from apportion.environments.deduction.games import GameKind, game_called
from apportion.environments.environment import Environment, Observation
from apportion.environments.negotiation.bargaining.simulation import BargainingChoice
from apportion.environments.negotiation.casino.simulation import CasinoChoice
from apportion.environments.negotiation.pairing import PairChoice
from apportion.environments.negotiation.rules import MOST_ACTS
from apportion.environments.negotiation.simulation import NegotiationChoice
from apportion.environments.simulation.plan import Asking
from apportion.environments.sotopia.agents import ROSTER
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.sources.task_sets import chosen_space
from apportion.environments.sotopia.tasks import PAIRS_A_SCENARIO, Visibility
from apportion.foundation.errors import InputError
from apportion.foundation.files import file_digest
from apportion.foundation.model_hub.names import FETCHED, model_digest
from apportion.foundation.settings import Settings
from apportion.llm_client.model_spec import ModelSpec
from apportion.llm_client.prompt_style import StyledModel
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.policy.contexts import HistoryText
from apportion.rlhf.sampling.environment_partner import EnvironmentPartner, Start
from apportion.rlhf.sampling.live_credit import CreditSettings, LiveCredit

if TYPE_CHECKING:
    from apportion.rlhf.settings import AlignSettings
    from apportion.rlhf.training.job import Job

CALLED = "environment_settings"
ITSELF = "self"
MADE_OF = ("learned@", "recorded@")
"""Before what a script is made of: a folder or a file."""
POLICY = "policy@"
_Episode = tuple[str, Callable[[], Environment]]


class Starts(Settings):
    """What is played, the policy's seats, and who has the others; a subclass for each kind of world."""

    AGENTS: ClassVar[AgentRegistry]
    """Who can have the other seats."""
    DIMENSIONS: ClassVar[tuple[str, ...]]
    """Of the outcome; the first is watched where nothing is said."""
    ALL_HEARD: ClassVar[bool] = True
    """Whether all that somebody does is heard, or is done anew where what was heard is left out."""

    repeats: int = Field(
        default=1, ge=1, description="episodes of every task and seat that draw differently, each a group's own"
    )
    other: str = Field(
        default=ITSELF,
        min_length=1,
        description="who has the other seats, as in `world simulate`: self (the policy as it is then), a script, "
        "learned@FOLDER, policy@FOLDER (a past self), smollm2, or a language model's style (base, base@MODEL); of "
        "several, with commas between, each seat's is drawn",
    )
    outcome: str = Field(
        default="",
        validate_default=True,
        description="the dimension of what the rules score that is watched, and that reward = outcome pays",
    )
    most_unusable: float = Field(
        default=MOST_UNUSABLE,
        ge=0,
        le=1,
        description="share of a seat's acts that may be unusable; an episode with more is paid the least",
    )
    llm: LLMSettings = Field(
        default=LLMSettings(temperature=TEMPERATURE), description="the language model of the other side"
    )

    @field_validator("outcome")
    @classmethod
    def _a_dimension(cls, name: str) -> str:
        if name and name not in cls.DIMENSIONS:
            raise ValueError(f"no dimension {name!r}; there are {', '.join(cls.DIMENSIONS)}")
        return name or cls.DIMENSIONS[0]

    @abstractmethod
    def episodes(self, seed: int) -> Iterable[_Episode]:
        """What is played: a name, and what makes it, not begun yet.

        Raises InputError: nothing to play, or a file that cannot be used.
        """

    @abstractmethod
    def places(self, agents: Sequence[str]) -> Iterable[tuple[str, str]]:
        """The policy's seats among a game's ``agents``: the name of each, and its agent."""

    @property
    @abstractmethod
    def acts_of_others(self) -> int:
        """The most acts of the other seats in one episode."""

    @property
    def others(self) -> tuple[str, ...]:
        """Who has the other seats, by name."""
        return tuple(name.strip() for name in self.other.split(",") if name.strip())

    def identity(self) -> dict[str, Any]:
        """What decides what is played: another policy counts by its content, a model by how it is asked."""
        plain = self.model_dump(mode="json", exclude={"llm"})
        policies = [one for one in self.others if one.startswith(POLICY) or one in FETCHED]
        if policies:
            plain["policy_files"] = [model_digest(one.removeprefix(POLICY)) for one in policies]
        parts = [one.partition("@") for one in self.others if one.startswith(MADE_OF)]
        made_of = [Path(of.partition("#")[0] if kind == "recorded" else of) for kind, _, of in parts]
        files = [sorted(one.rglob("*")) if one.is_dir() else [one] for one in made_of]
        if made_of:
            plain["other_files"] = [[file_digest(one) for one in found if one.is_file()] for found in files]
        if models := self.models:
            plain["asked"] = [[one.called, dict(one.settings.asking)] for one in models.values()]
        return plain

    @property
    def models(self) -> dict[str, StyledModel]:
        """The language models among the others, by their names."""
        found = {}
        for name in self.others:
            if name == ITSELF or name.startswith(POLICY):  # A model's folder may have an @ in its name.
                continue
            chosen = ModelSpec(model=self.llm.model)
            named = self.AGENTS.asked_by(name, chosen, temperature=self.llm.temperature)
            if named is not None:
                settings = self.llm.model_copy(update={"model": named.settings.model})
                found[name] = StyledModel(named.style, settings)
        return found

    @property
    def asked(self) -> StyledModel | None:
        """The first language model among the others; None where none is asked."""
        return next(iter(self.models.values()), None)

    @field_validator("other")
    @classmethod
    def _somebody(cls, other: str) -> str:
        if not any(name.strip() for name in other.split(",")):
            raise ValueError(f"{other!r} names nobody; give self, a script, or what `world simulate --agents` takes")
        return other

    def check(self) -> None:
        """Raise InputError where there is nothing to play, or nobody to play with; no weights are loaded."""
        starts_of(self, 0)
        models = self.models
        for name in self.others:
            if name not in models and name != ITSELF:
                self.AGENTS.scripted(name)

    def first_requests(self) -> list[ChatRequest]:
        """What the first language model is asked first in every episode, before the policy is known.

        Where the policy begins, what stands for no act is in the place of what it will say.
        """
        other = self._asking
        requests = []
        for start in starts_of(self, 0):
            game = start.make()
            if game.acting() == (start.agent,) and (instead := game.stand_in(start.agent)) is not None:
                game.do(instead)
            speaking = [name for name in game.acting() if name != start.agent]
            requests += [other.request(Observation(game, name)) for name in speaking[:1]]
        return requests

    @property
    def most_requests(self) -> int:
        """The most that language models are asked in one episode, where every reply can be used."""
        return self.acts_of_others * self._asking.requests_an_act

    @property
    def _asking(self) -> Asking:
        for name, asked in self.models.items():
            other = self.AGENTS.asking(name, asked, _nobody)
            if isinstance(other, Asking):
                return other
        raise InputError(f"{CALLED}: {self.other!r} is no language model")


def _nobody(request: ChatRequest) -> ChatReply:
    raise AssertionError("only looked at")


class _ForTwo(Starts):
    """What worlds of two seats share."""

    seats: tuple[Literal["first", "second"], ...] = Field(
        default=("first", "second"), min_length=1, description="the policy's seats"
    )
    most_acts: int = Field(
        default=MOST_ACTS, ge=2, description="acts of all agents together after which an episode ends"
    )

    @field_validator("seats")
    @classmethod
    def _each_seat_once(cls, seats: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(seats)) != len(seats):
            raise ValueError(f"{', '.join(seats)}: name each seat once")
        return seats

    def places(self, agents: Sequence[str]) -> Iterable[tuple[str, str]]:
        """The first and the second of two."""
        return [(seat, agents[("first", "second").index(seat)]) for seat in self.seats]

    @property
    def acts_of_others(self) -> int:
        """Half of them."""
        return (self.most_acts + 1) // 2


class SotopiaStarts(_ForTwo):
    """Social episodes."""

    AGENTS: ClassVar[AgentRegistry] = ROSTER
    DIMENSIONS: ClassVar[tuple[str, ...]] = ("GOAL", *(name for name in RANGES if name != "GOAL"))

    tasks: Path | None = Field(
        default=None, description="a file of tasks or a folder of published profiles; none takes the bundled ones"
    )
    task_set: str | None = Field(default=None, min_length=1, description="a named set out of these, e.g. checkable")
    scenarios: tuple[str, ...] = Field(default=(), description="names of scenarios; none takes all")
    pairs: int = Field(default=PAIRS_A_SCENARIO, ge=1, description="pairs of characters a scenario, at most")
    visibility: Visibility = Field(default="released", description="what agents see of each other: released or paper")
    most_silent: int = Field(default=3, ge=0, description="silent acts in a row that end it; 0 is none")

    def identity(self) -> dict[str, Any]:
        """With the tasks by their content."""
        tasks = {} if self.tasks is None else {"tasks": chosen_space(self.tasks, self.task_set).digest()}
        return {**super().identity(), **tasks}

    def episodes(self, seed: int) -> Iterable[_Episode]:
        """Every task of the scenarios."""
        space = chosen_space(self.tasks, self.task_set).only(self.scenarios)
        rules = Rules(self.visibility, self.most_acts, self.most_silent)
        for number, task in enumerate(space.draw(pairs=self.pairs, seed=seed)):
            if len(task.characters) != 2:
                raise InputError(
                    f"{CALLED}: scenario {task.scenario.name!r} is for {len(task.characters)}; name those for two"
                )
            yield f"{task.scenario.name}-{number}", partial(Sotopia, task, rules)


class NegotiationStarts(_ForTwo):
    """Games of sharing; who begins is drawn."""

    AGENTS: ClassVar[AgentRegistry] = NegotiationChoice.roster
    CHOICE: ClassVar[type[PairChoice]] = NegotiationChoice
    DIMENSIONS: ClassVar[tuple[str, ...]] = ("points", "advantage")

    games: int = Field(default=24, ge=1, description="tasks that are played")

    def episodes(self, seed: int) -> Iterable[_Episode]:
        """The tasks that `apportion world simulate` plays."""
        choice = self.CHOICE(games=self.games, seed=seed, most_acts=self.most_acts)
        return [(str(number), make) for number, (_, make) in enumerate(choice.tasks())]


class BargainingStarts(NegotiationStarts):
    """A buyer, who is the first, and a seller."""

    AGENTS: ClassVar[AgentRegistry] = BargainingChoice.roster
    CHOICE: ClassVar[type[PairChoice]] = BargainingChoice
    DIMENSIONS: ClassVar[tuple[str, ...]] = ("snp", "points", "advantage", "share")


class CasinoStarts(NegotiationStarts):
    """CaSiNo's game."""

    AGENTS: ClassVar[AgentRegistry] = CasinoChoice.roster
    CHOICE: ClassVar[type[PairChoice]] = CasinoChoice


class WerewolfStarts(Starts):
    """Werewolf, and what games of hidden roles share: every start has a deal of its own."""

    GAME: ClassVar[GameKind] = game_called("werewolf")
    AGENTS: ClassVar[AgentRegistry] = GAME.roster
    DIMENSIONS: ClassVar[tuple[str, ...]] = (WIN,)
    ALL_HEARD: ClassVar[bool] = False

    games: int = Field(default=8, ge=1, description="deals of every seat")
    seats: tuple[int, ...] = Field(default=(), description="numbers of the policy's seats, from 1; none takes all")
    rules: tuple[str, ...] = Field(default=(), description="options of the rules, as NAME=VALUE")

    def episodes(self, seed: int) -> Iterable[_Episode]:
        """The same game, again and again."""
        return [(str(number), self._make) for number in range(self.games)]

    def places(self, agents: Sequence[str]) -> Iterable[tuple[str, str]]:
        """By number."""
        if len(set(self.seats)) != len(self.seats):
            raise InputError(f"{CALLED}.seats: {', '.join(map(str, self.seats))}: name each seat once")
        for seat in self.seats or range(1, len(agents) + 1):
            if not 1 <= seat <= len(agents):
                raise InputError(f"{CALLED}.seats: no seat {seat}; there are 1 to {len(agents)}")
            yield str(seat), agents[seat - 1]

    @property
    def acts_of_others(self) -> int:
        """By the game's rules, of all seats but one."""
        game = self._make()
        return sum(game.most_acts(seat) for seat in range(2, len(game.agents) + 1))

    @property
    def _make(self) -> Any:
        options = self.GAME.options_of(self.rules, lambda name: f"{CALLED}.{name}")
        return partial(self.GAME.make, options, None)


class AvalonStarts(WerewolfStarts):
    """Avalon."""

    GAME: ClassVar[GameKind] = game_called("avalon")
    AGENTS: ClassVar[AgentRegistry] = GAME.roster


class OneNightStarts(WerewolfStarts):
    """One Night Ultimate Werewolf."""

    GAME: ClassVar[GameKind] = game_called("onuw")
    AGENTS: ClassVar[AgentRegistry] = GAME.roster


def starts_of(settings: Starts, seed: int) -> list[Start]:
    """Every seat of every task, ``repeats`` times; equal settings and seeds give the same."""
    starts = []
    for task, make in settings.episodes(seed):
        for seat, agent in settings.places(make().agents):
            for repeat in range(settings.repeats):
                name = f"{task}-{seat}-{repeat}"
                starts.append(Start(name, partial(_begun, make, f"{seed}/{name}"), agent))
    if not starts:
        raise InputError(f"{CALLED}: no task to play; choose other scenarios")
    return starts


@contextmanager
def of_job(job: Job, settings: Starts, history: HistoryText) -> Iterator[tuple[list[Start], EnvironmentPartner]]:
    """What is played in an alignment, and the other side of it, whose client is closed at the end.

    Raises InputError: no such tasks or agent, a policy that cannot be opened, or a model that cannot be asked.
    """
    starts, models = starts_of(settings, job.seed), settings.models
    paid = (settings.outcome, settings.most_unusable)

    def agents(made: dict[str, Agent]) -> list[Agent | None]:
        scripted = settings.AGENTS.scripted
        return [None if name == ITSELF else made.get(name) or scripted(name) for name in settings.others]

    credit = live_credit(job.settings, settings)
    if (asked := settings.asked) is None:
        yield starts, EnvironmentPartner(starts, agents({}), *paid, history, credit=credit)
        return
    with job.asking.session(asked.settings, f"{CALLED}.llm", TOO_LONG) as asker:
        asker.check(models={one.settings.model for one in models.values()})
        made = {name: settings.AGENTS.asking(name, one, asker.complete) for name, one in models.items()}
        yield starts, EnvironmentPartner(starts, agents(made), *paid, history, asked.settings.concurrency, credit)


def live_credit(settings: AlignSettings, played: Starts) -> LiveCredit | None:
    """What credits the turns of episodes where that is the reward; raises as `CreditSettings.player_in`."""
    by = settings.reward_by.checked(settings.reward_settings)
    if not isinstance(by, CreditSettings):
        return None
    return LiveCredit(by, played.AGENTS.scripted(by.player_in(played)), played.outcome)


def _begun(make: Callable[[], Environment], seed: str) -> Environment:
    game = make()
    game.reset(seed)
    return game
