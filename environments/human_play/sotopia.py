"""A person plays a character of a social episode with an agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from random import Random
from typing import ClassVar

from apportion.environments.agents.agent import Agent
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.collect_episodes import EpisodePlan
from apportion.environments.episode_log import LoggedEpisode
from apportion.environments.human_play.episode import HumanPlay
from apportion.environments.sotopia.agents import ROSTER
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.simulator import task_in
from apportion.environments.sotopia.sources.serialization import is_bundled, task_record
from apportion.environments.sotopia.sources.space import TaskSpace
from apportion.environments.sotopia.sources.task_sets import chosen_space
from apportion.environments.sotopia.tasks import Task
from apportion.environments.sotopia.text_rendering import SotopiaRenderer
from apportion.environments.terminal.human_agent import HumanAgent
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import ApportionError, InputError
from apportion.foundation.files import digest
from apportion.foundation.truncate import first_few


@dataclass(frozen=True)
class PersonChoice(HumanPlay):
    """A social episode.

    ``who``: The character that the person plays, by name, or a seat by number from 1. ``scenario``: A scenario; None
    draws one by the seed, of those in which ``who`` can play. ``partner``: The agent that plays everybody else.
    ``rules``: Visibility, and when it ends. ``tasks``, ``task_set``: As
    `apportion.environments.sotopia.simulation.SimulationChoice` has them.
    """

    who: str = "1"
    scenario: str | None = None
    partner: str = "conceding"
    rules: Rules = field(default_factory=Rules)
    tasks: Path | None = None
    task_set: str | None = None
    kind: ClassVar[str] = "play sotopia"
    note: ClassVar[str] = (
        "a person took part in every session; the scenario, the characters and what rules score are simulated"
    )
    agents: ClassVar[AgentRegistry] = ROSTER

    @property
    def partners(self) -> tuple[str, ...]:
        """The one partner."""
        return (self.partner,)

    @property
    def renderer(self) -> SotopiaRenderer:
        """That of social episodes."""
        return SotopiaRenderer(self.rules)

    @property
    def seat_name(self) -> str:
        """The character's name."""
        return self.casting.character

    @cached_property
    def space(self) -> TaskSpace:
        """What there is to be played; raises InputError where it cannot be read, or has no such set or scenario."""
        return chosen_space(self.tasks, self.task_set)

    @cached_property
    def casting(self) -> HumanRoleAssignment:
        """Who plays what; raises as `cast`."""
        return cast(self)

    def check(self) -> None:
        """Raise InputError as `cast`."""
        cast(self)

    def plan(self, person: HumanAgent, agents: Mapping[str, Agent]) -> EpisodePlan:
        """The episode, with the partner as everybody else."""
        casting, task = self.casting, self.casting.task
        seats: dict[str, Agent] = {one.name: agents[self.partner] for one in task.characters}
        seats[casting.character] = person
        about = {"scenario": task.scenario.name, "rules": asdict(self.rules), "person": casting.seat}
        if not is_bundled(task):
            about["task"] = task_record(task)
        make = partial(Sotopia, task, self.rules)
        return EpisodePlan(casting.episode, make, seats, f"{self.seed}/{casting.episode}", about)

    def environment_of(self, logged: LoggedEpisode) -> Sotopia:
        """The episode that the log's opening says."""
        return Sotopia(task_in(logged), Rules(**logged.opening["about"]["rules"]))

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Errors name characters; those whose names the person may not know are called as on the person's screen."""
        try:
            yield
        except ApportionError as error:
            casting = self.casting
            part = Sotopia(casting.task, self.rules).facts(casting.character).part
            message = str(error)
            for character, called in zip(casting.task.characters, part.called, strict=True):
                message = message.replace(character.name, called)
            error.args = (message,)
            raise


@dataclass(frozen=True)
class HumanRoleAssignment:
    """A task, the seat of the person, and the episode's name, which holds no character's."""

    episode: str
    task: Task
    seat: int

    @property
    def character(self) -> str:
        """Whom the person plays."""
        return self.task.characters[self.seat].name


def cast(choice: PersonChoice) -> HumanRoleAssignment:
    """Who plays what; the same choice gives the same.

    Raises InputError: No such scenario, character or seat; nobody of this name in the scenario; or the person's name
    cannot be used.
    """
    choice.check_person()
    wanted = choice.who if choice.who.isdecimal() else _character(choice)
    names = [one.name for one in choice.space.scenarios] if choice.scenario is None else [choice.scenario]
    places = {name: place for name in names if (place := next(_places(choice, name, wanted), None)) is not None}
    if not places:
        raise InputError(f"{choice.called('who')} {choice.who!r}: {_why_nowhere(choice, wanted)}")
    scenario = Random(f"{choice.seed}/scenario").choice(sorted(places))
    number, task, seat = places[scenario]
    partner = ROSTER.called_as(choice.partner, choice.chosen, choice.called, choice.temperature)
    agents = "-".join(choice.person if other == seat else partner for other in range(len(task.characters)))
    return HumanRoleAssignment(f"{scenario}-{number}-{agents}-{choice.seed}{_unusual(choice)}", task, seat)


def _unusual(choice: PersonChoice) -> str:
    """What tells episodes of other rules or tasks apart from those by default."""
    rules = None if choice.rules == Rules() else asdict(choice.rules)
    tasks = None if choice.tasks is None and choice.task_set is None else choice.space.digest()
    return "" if rules is None and tasks is None else f"-{digest([rules, tasks])[:6]}"


def _character(choice: PersonChoice) -> str:
    """The full name that ``who`` means: the whole of it, or its first word where that is enough."""
    names = [one.name for one in choice.space.characters]
    given = choice.who.strip().casefold()
    meant = [name for name in names if given in (name.casefold(), name.casefold().split()[0])]
    if len(meant) != 1:
        listed = f"there are {first_few(names, 20)}; or give a seat by its number, from 1"
        hint = did_you_mean(choice.who, names, listed)
        raise InputError(f"{choice.called('who')} {choice.who!r}: no such character: {hint}")
    return meant[0]


def _places(choice: PersonChoice, scenario: str, wanted: str) -> Iterator[tuple[int, Task, int]]:
    """Where the person can sit in a scenario: the task's number in the order of the draw, the task, the seat."""
    space = choice.space.only([scenario])
    try:
        tasks = space.draw(pairs=len(space.characters) ** 2, seed=choice.seed)
    except InputError:
        if choice.scenario is not None:
            raise
        tasks = []  # Somebody can play another one.
    for number, task in enumerate(tasks):
        for seat, character in enumerate(task.characters):
            if wanted in (character.name, str(seat + 1)):
                yield number, task, seat


def _why_nowhere(choice: PersonChoice, wanted: str) -> str:
    if wanted.isdecimal():
        return "no such seat; seats are counted from 1, and scenarios for two have 1 and 2"
    free = replace(choice, scenario=None)
    elsewhere = [one.name for one in choice.space.scenarios if any(_places(free, one.name, wanted))]
    where = f"it can be played in {first_few(elsewhere, 20)}" if elsewhere else "nor does any other scenario"
    place = "any scenario" if choice.scenario is None else f"scenario {choice.scenario!r}"
    return f"nobody knows {wanted} as {place} wants it; {where}"
