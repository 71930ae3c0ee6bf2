"""The characters and scenarios that come with the project, and the tasks made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources

from apportion.environments.sotopia.sources.space import TaskSpace
from apportion.environments.sotopia.sources.task_file import task_space
from apportion.environments.sotopia.tasks import PAIRS_A_SCENARIO, Character, Relationship, Scenario, Task

BUNDLED = "apportion.environments.sotopia.bundled"
SOURCE = "apportion"
FILES = ("characters.toml", "scenarios.toml")


@cache
def space() -> TaskSpace:
    """Both files as one task space."""
    folder = resources.files(BUNDLED)
    text = "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in FILES)
    return task_space(text, "bundled", SOURCE)


def characters() -> tuple[Character, ...]:
    """The eight characters."""
    return space().characters


def relationships() -> Mapping[frozenset[str], Relationship]:
    """By pair of names how they know each other; who is not in it are strangers."""
    return {frozenset(pair.between): pair.relationship for pair in space().relationships}


def scenarios() -> tuple[Scenario, ...]:
    """The twelve scenarios, those that rules can check first."""
    return space().scenarios


def tasks(*, seed: int | str = 0, pairs: int = PAIRS_A_SCENARIO, only: Sequence[Scenario] | None = None) -> list[Task]:
    """Tasks of the bundled scenarios, up to ``pairs`` of each."""
    chosen = space() if only is None else replace(space(), scenarios=tuple(only))
    return chosen.draw(pairs=pairs, seed=seed)
