"""Social episodes that a policy plays while it is trained: which tasks, whose seat, and who has the other one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.actions import SILENT
from apportion.environments.agents.language_model import TEMPERATURE, LanguageModelAgent, revised
from apportion.environments.agents.registry import TOO_LONG
from apportion.environments.environment import Action, Observation
from apportion.environments.sotopia.agents import asked_by, scripted
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.sources.task_sets import chosen_space
from apportion.environments.sotopia.tasks import PAIRS_A_SCENARIO, Task, Visibility
from apportion.foundation.errors import InputError
from apportion.foundation.model_hub.names import FETCHED, model_digest
from apportion.foundation.settings import Settings
from apportion.llm_client.model_spec import ModelSpec
from apportion.llm_client.prompt_style import StyledModel
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.policy.contexts import HistoryText
from apportion.rlhf.sampling.environment_partner import EnvironmentPartner, Start

if TYPE_CHECKING:
    from apportion.rlhf.training.job import Job

CALLED = "environment_settings"
ITSELF = "self"
POLICY = "policy@"


class SotopiaStarts(Settings):
    """Tasks, seats and the other side."""

    tasks: Path | None = Field(
        default=None, description="a file of tasks or a folder of published profiles; none takes the bundled ones"
    )
    task_set: str | None = Field(default=None, min_length=1, description="a named set out of these, e.g. checkable")
    scenarios: tuple[str, ...] = Field(default=(), description="names of scenarios; none takes all")
    pairs: int = Field(default=PAIRS_A_SCENARIO, ge=1, description="pairs of characters a scenario, at most")
    repeats: int = Field(
        default=1, ge=1, description="episodes of every task and seat that draw differently, each a group's own"
    )
    seats: tuple[Literal["first", "second"], ...] = Field(
        default=("first", "second"), min_length=1, description="the policy's place: who begins, or who answers"
    )
    other: str = Field(
        default=ITSELF,
        min_length=1,
        description="who has the other seat: self (the policy as it is at the time), a script (conceding, random), "
        "smollm2, policy@FOLDER, or a language model's style (base, base@MODEL)",
    )
    outcome: str = Field(
        default="GOAL", description="the dimension by the judge rules that is watched in the curves; it pays nobody"
    )
    visibility: Visibility = Field(default="released", description="what agents see of each other: released or paper")
    most_acts: int = Field(default=20, ge=2, description="acts of all agents together after which an episode ends")
    most_silent: int = Field(default=3, ge=0, description="silent acts in a row that end it; 0 is none")
    llm: LLMSettings = Field(
        default=LLMSettings(temperature=TEMPERATURE), description="the language model of the other side"
    )

    @field_validator("outcome")
    @classmethod
    def _a_dimension(cls, name: str) -> str:
        if name not in RANGES:
            raise ValueError(f"no dimension {name!r}; there are {', '.join(RANGES)}")
        return name

    @field_validator("seats")
    @classmethod
    def _each_seat_once(cls, seats: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(seats)) != len(seats):
            raise ValueError(f"{', '.join(seats)}: name each seat once")
        return seats

    @property
    def rules(self) -> Rules:
        """When an episode ends, and what is seen in it."""
        return Rules(self.visibility, self.most_acts, self.most_silent)

    def identity(self) -> dict[str, Any]:
        """What decides what is played: tasks and another policy count by their content, a model by how it is asked."""
        plain = self.model_dump(mode="json", exclude={"tasks", "llm"})
        if self.tasks is not None:
            plain["tasks"] = chosen_space(self.tasks, self.task_set).digest()
        if self.other.startswith(POLICY) or self.other in FETCHED:
            plain["policy_files"] = model_digest(self.other.removeprefix(POLICY))
        if (asked := self.asked) is not None:
            plain["asked"] = [asked.called, dict(asked.settings.asking)]
        return plain

    @property
    def asked(self) -> StyledModel | None:
        """The language model of the other side; None where none is asked."""
        if self.other == ITSELF or self.other.startswith(POLICY):  # A model's folder may have an @ in its name.
            return None
        named = asked_by(self.other, ModelSpec(model=self.llm.model), temperature=self.llm.temperature)
        if named is None:
            return None
        return StyledModel(named.style, self.llm.model_copy(update={"model": named.settings.model}))

    def check(self) -> None:
        """Raise InputError where there is nothing to play, or nobody to play with; no weights are loaded."""
        starts_of(self, 0)
        if self.asked is None and self.other != ITSELF:
            scripted(self.other)

    def first_requests(self) -> list[ChatRequest]:
        """What the model of the other side is asked first in every episode, before the policy is known.

        Where the policy begins, silence stands in the place of what it will say.
        """
        asked = self.asked
        if asked is None:
            raise InputError(f"{CALLED}: {self.other!r} is no language model")
        requests = []
        for start in starts_of(self, 0):
            game = start.make()
            if game.acting() == (start.agent,):
                game.do(Action(SILENT))
            other = LanguageModelAgent(asked.called, asked.style, asked.settings, _nobody)
            requests.append(other.request(Observation(game, *game.acting())))
        return requests

    @property
    def most_requests(self) -> int:
        """The most that the model of the other side is asked in one episode, where every reply can be used."""
        twice = self.asked is not None and revised(self.asked.style) is not None
        return (self.most_acts + 1) // 2 * (2 if twice else 1)


def _nobody(request: ChatRequest) -> ChatReply:
    raise AssertionError("only looked at")


def starts_of(settings: SotopiaStarts, seed: int) -> list[Start]:
    """Every seat of every task, ``repeats`` times; equal settings and seeds give the same."""
    space = chosen_space(settings.tasks, settings.task_set).only(settings.scenarios)
    starts = []
    for number, task in enumerate(space.draw(pairs=settings.pairs, seed=seed)):
        if len(task.characters) != 2:
            raise InputError(
                f"{CALLED}: scenario {task.scenario.name!r} is for {len(task.characters)}; name those for two"
            )
        for seat in settings.seats:
            agent = task.characters[("first", "second").index(seat)].name
            for repeat in range(settings.repeats):
                name = f"{task.scenario.name}-{number}-{seat}-{repeat}"
                starts.append(Start(name, partial(_begun, task, settings.rules, f"{seed}/{name}"), agent))
    if not starts:
        raise InputError(f"{CALLED}: no task to play; choose other scenarios")
    return starts


@contextmanager
def of_job(job: Job, settings: SotopiaStarts, history: HistoryText) -> Iterator[tuple[list[Start], EnvironmentPartner]]:
    """What is played in an alignment, and the other side of it, whose client is closed at the end.

    Raises InputError: no such tasks or agent, a policy that cannot be opened, or a model that cannot be asked.
    """
    starts = starts_of(settings, job.seed)
    if (asked := settings.asked) is None:
        yield (
            starts,
            EnvironmentPartner(
                starts, None if settings.other == ITSELF else scripted(settings.other), settings.outcome, history
            ),
        )
        return
    revised(asked.style)
    with job.asking.session(asked.settings, f"{CALLED}.llm", TOO_LONG) as asker:
        asker.check()
        other = LanguageModelAgent(asked.called, asked.style, asked.settings, asker.complete)
        yield starts, EnvironmentPartner(starts, other, settings.outcome, history, asked.settings.concurrency)


def _begun(task: Task, rules: Rules, seed: str) -> Sotopia:
    game = Sotopia(task, rules)
    game.reset(seed)
    return game
