"""A task space: who there is, how they know each other, where they meet, and the tasks that are drawn from it (C.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from apportion.environments.sotopia.tasks import (
    PAIRS_A_SCENARIO,
    Character,
    Relationship,
    Scenario,
    Task,
    draw_pairs,
    draw_tasks,
)
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest
from apportion.foundation.truncate import first_few


@dataclass(frozen=True)
class KnownPair:
    """How two characters know each other, and the story of it, which no agent reads."""

    between: tuple[str, str]
    relationship: Relationship
    story: str = ""


@dataclass(frozen=True)
class TaskSpace:
    """Characters, relationships and scenarios of one source, and the tasks that it states itself.

    ``place``: Where it comes from, for a person. ``characters``: Each of a name of its own. ``relationships``: A pair
    that stands there twice has two relationships, and the scenario's decides; who is in none are strangers.
    ``scenarios``: Each of a name of its own. ``tasks``: Stated combinations; none: tasks are drawn from all pairs that
    fit. ``exact``: Whether the stated tasks are what is played; else up to some pairs a scenario are drawn from them.
    ``named``: Which named set its tasks are; empty: none. ``notes``: What a person should know of it. Raises
    InputError: Two characters or two scenarios of one name, or a relationship of somebody who is not there.
    """

    place: str
    characters: tuple[Character, ...] = ()
    relationships: tuple[KnownPair, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    tasks: tuple[Task, ...] = ()
    exact: bool = True
    named: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for what, names in (
            ("characters", [one.name for one in self.characters]),
            ("scenarios", [one.name for one in self.scenarios]),
        ):
            seen: set[str] = set()
            for name in names:
                if name in seen:
                    raise InputError(f"{self.place}: two {what} are called {name!r}; each has a name of its own")
                seen.add(name)
        people = {one.name for one in self.characters}
        for pair in self.relationships:
            for name in pair.between:
                if name not in people:
                    hint = did_you_mean(name, people, "add the character, or take the relationship out")
                    raise InputError(f"{self.place}: a relationship of {name!r}, who is no character here: {hint}")

    def known(self, wanted: Relationship) -> Mapping[frozenset[str], Relationship]:
        """By pair of names how they know each other; of a pair with two relationships the one that is ``wanted``."""
        return {pair: wanted if wanted in kinds else kinds[-1] for pair, kinds in self._kinds.items()}

    def fitting(self, scenario: Scenario, *, constrained: bool = True) -> list[tuple[Character, Character]]:
        """Pairs who know each other as a scenario for two wants and fit its constraints, each in one order."""
        known = self.known(scenario.relationship)
        free = scenario if constrained else replace(scenario, ages=(), occupations=())
        pairs = len(self.characters) ** 2
        return [
            (task.characters[0], task.characters[1]) for task in draw_tasks(free, self.characters, known, pairs=pairs)
        ]

    def twice(self) -> int:
        """How many pairs have two relationships."""
        return sum(len(kinds) > 1 for kinds in self._kinds.values())

    def only(self, names: Sequence[str]) -> TaskSpace:
        """The same with these scenarios, in the order given; no names: with all.

        Raises InputError: there is none of a name, or no task of it is stated where tasks are played as stated.
        """
        there = {one.name: one for one in self.scenarios}
        stated = list(dict.fromkeys(task.scenario.name for task in self.tasks)) if self.exact else []
        for name in names:
            if name not in there:
                listed = f"there are {first_few(list(there), 20)}"
                raise InputError(f"no scenario {name!r}: {did_you_mean(name, there, listed)}")
            if stated and name not in stated:
                raise InputError(
                    f"{self.place}: no task is stated for scenario {name!r}, only for {first_few(stated, 20)}; "
                    "state who plays it, or take all [[task]] out to have pairs drawn"
                )
        if not names:
            return self
        return replace(
            self,
            scenarios=tuple(there[name] for name in names),
            tasks=tuple(task for task in self.tasks if task.scenario.name in names),
        )

    def draw(self, *, pairs: int = PAIRS_A_SCENARIO, seed: int | str = 0) -> list[Task]:
        """The tasks to play: the stated ones, or up to ``pairs`` of each scenario.

        Raises InputError: a scenario for more than two without stated tasks, or nobody fits any scenario.
        """
        if self.exact and self.tasks:
            return list(self.tasks)
        stated: dict[str, list[Task]] = {}
        for task in self.tasks:
            stated.setdefault(task.scenario.name, []).append(task)
        drawn: list[Task] = []
        for scenario in self.scenarios:
            if scenario.name in stated:
                fitting = [t.characters for t in stated[scenario.name] if scenario.broken(t.characters) is None]
                drawn += draw_pairs(scenario, fitting, pairs=pairs, seed=seed)
            elif len(scenario.goals) == 2:
                known = self.known(scenario.relationship)
                drawn += draw_tasks(scenario, self.characters, known, pairs=pairs, seed=seed)
            else:
                raise InputError(
                    f"{self.place}: scenario {scenario.name!r} is for {len(scenario.goals)}; pairs are drawn for two: "
                    "state who plays it"
                )
        if not drawn and pairs > 0:
            raise InputError(
                f"{self.place}: none of the {len(self.characters)} characters fit any of the {len(self.scenarios)} "
                "scenarios: no pair knows each other as they want, within their ages and occupations"
            )
        return drawn

    def digest(self) -> str:
        """sha256 of all that decides what is played; not of where it lies."""
        people = [asdict(one) for one in self.characters]
        pairs = [[*pair.between, pair.relationship] for pair in self.relationships]
        tasks = [[task.scenario.name, *(one.name for one in task.characters)] for task in self.tasks]
        return digest([people, pairs, [repr(one) for one in self.scenarios], tasks, self.exact])

    @cached_property
    def _kinds(self) -> Mapping[frozenset[str], tuple[Relationship, ...]]:
        kinds: dict[frozenset[str], tuple[Relationship, ...]] = {}
        for pair in self.relationships:
            names = frozenset(pair.between)
            before = kinds.get(names, ())
            kinds[names] = before if pair.relationship in before else (*before, pair.relationship)
        return kinds


def used_by(space: TaskSpace, tasks: Iterable[Task]) -> TaskSpace:
    """What ``tasks`` of a space need of it, and them as its stated tasks."""
    tasks = tuple(tasks)
    names = {one.name for task in tasks for one in task.characters}
    places = {task.scenario.name for task in tasks}
    return replace(
        space,
        characters=tuple(one for one in space.characters if one.name in names),
        relationships=tuple(pair for pair in space.relationships if set(pair.between) <= names),
        scenarios=tuple(one for one in space.scenarios if one.name in places),
        tasks=tasks,
        exact=True,
    )
