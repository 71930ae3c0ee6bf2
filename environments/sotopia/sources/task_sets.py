"""Where tasks come from, and named sets of them, kept apart: "hard" means another thing in each of three papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from apportion.environments.sotopia.goal_checks import OneNumber, Terms
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.sources.published import read_published
from apportion.environments.sotopia.sources.space import TaskSpace, used_by
from apportion.environments.sotopia.sources.task_file import read_task_file
from apportion.environments.sotopia.tasks import PAIRS_A_SCENARIO, Scenario
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError

PUBLISHED_HARD = frozenset(
    f"01H7VF{rest}"
    for rest in (
        "HN5WVC5HKKVBHZBA553R", "HN7A1ZX5KSMT2YN9RXC4", "HN7WJK7VWVRZZTQ6DX9T", "HN9W0WAFZCBT09PKJJNK",
        "HNF4G18PC9JHGRC8A1R6", "HNN7XTR99319DS8KZCQM", "HNNYH3W0VRWVY178K2TK", "HNV13MHN97GAH73E3KM8",
        "HP8AN5643B0NR0NP00VE", "HPDZVVCDZR3AARA547CY", "HPQQQY6H4DNC6NBQ8XTG", "HPS5WJW2694R1MNC8JFY",
        "HPSWGDGEYRP63H2DJKV0", "HQ11NAMZS4A2RDGDB01V",
    )
)  # fmt: skip
"""The ids of the 14 hard scenarios of the released benchmark, which SAVOIR calls SOTOPIA-Hard."""


@dataclass(frozen=True)
class TaskSet:
    """A set of tasks with a name.

    ``holds`` says what is in it and whose it is, ``needs`` what one needs to play it; ``choose`` takes it out of a task
    space, or raises InputError where it is not there.
    """

    name: str
    holds: str
    needs: str
    choose: Callable[[TaskSpace], TaskSpace]


def open_space(place: Path | None = None, *, complete: bool = True) -> TaskSpace:
    """The task space of a place.

    ``place``: A file of tasks (TOML), or a folder of published profiles; None is what comes with the project. A file
    without scenarios, or without characters, is completed by those that come with the project. ``complete``: Whether it
    is. Raises InputError: It cannot be read, or is not there.
    """
    if place is None:
        return bundled_tasks.space()
    if place.is_dir():
        return read_published(place).space(str(place))
    if not place.exists():
        raise InputError(f"{place}: no such file or folder; give a file of tasks (TOML) or a folder of profiles")
    space = read_task_file(place)
    return _completed(space) if complete else space


def _completed(space: TaskSpace) -> TaskSpace:
    ours = bundled_tasks.space()
    if not space.characters:
        characters, pairs = ours.characters, ours.relationships
        notes = (*space.notes, "no characters of its own: played by the bundled ones")
        space = replace(space, characters=characters, relationships=pairs, notes=notes)
    if not space.scenarios:
        notes = (*space.notes, "no scenarios of its own: the bundled ones are played")
        space = replace(space, scenarios=ours.scenarios, notes=notes)
    return space


def chosen_space(place: Path | None, named: str | None) -> TaskSpace:
    """The task space of a place, or a named set out of it.

    Raises InputError as `open_space`; no set of that name (with the nearest); or what the set needs is not there.
    """
    space = open_space(place)
    if named is None:
        return space
    if named not in SETS:
        listed = f"there are {', '.join(SETS)}"
        raise InputError(f"no set {named!r}: {did_you_mean(named, SETS, listed)}")
    return replace(SETS[named].choose(space), named=named)


def _checkable(space: TaskSpace) -> TaskSpace:
    names = [one.name for one in space.scenarios if one.terms is not None]
    if not names:
        raise InputError(f"{space.place}: rules can check none of the {len(space.scenarios)} scenarios")
    return space.only(names)


def _published_hard(space: TaskSpace) -> TaskSpace:
    there = [one.name for one in space.scenarios if one.name in PUBLISHED_HARD]
    if len(there) < len(PUBLISHED_HARD):
        count = f"{len(there)}" if there else "none"
        raise InputError(
            f"savoir-hard: {count} of its 14 scenarios is among the {len(space.scenarios)} of {space.place} (their ids "
            f"begin with 01H7VF). {SETS['savoir-hard'].needs}"
        )
    return space.only(there)


def _stated(name: str, tasks: int) -> Callable[[TaskSpace], TaskSpace]:
    def choose(space: TaskSpace) -> TaskSpace:
        if space.named != name:
            own = f"its tasks are the set {space.named!r}" if space.named else "nothing there says that it is this set"
            raise InputError(f"{name}: not in {space.place}: {own}. {SETS[name].needs}")
        there = len(space.tasks)
        if there != tasks:
            raise InputError(f"{space.place}: says that it is the set {name!r} and has {there} tasks, not {tasks}")
        return space

    return choose


def sampled(space: TaskSpace, count: int | None, *, pairs: int = PAIRS_A_SCENARIO, seed: int = 0) -> TaskSpace:
    """``count`` tasks, or all, of those that a space gives to play, as a space of their own that states them.

    ``space``: What is drawn from. ``count``: How many tasks; None: all. ``pairs``: Pairs of characters a scenario, at
    most. ``seed``: Of both draws; tasks keep their order. Raises InputError: There are fewer tasks.
    """
    tasks = space.draw(pairs=pairs, seed=seed)
    if count is not None and count > len(tasks):
        raise InputError(f"{space.place}: {count:,} tasks are asked for, and there are {len(tasks):,}")
    chosen = range(len(tasks)) if count is None else sorted(Random(f"{seed}/sample").sample(range(len(tasks)), count))
    whole = space.exact and len(chosen) == len(space.tasks)
    return replace(used_by(space, [tasks[number] for number in chosen]), named=space.named if whole else "")


def overview(space: TaskSpace) -> dict[str, Any]:
    """What a space holds, as JSON: scenarios with their constraints and whether rules check them, and characters.

    Goals and secrets are not in it.
    """
    stated = Counter(task.scenario.name for task in space.tasks)
    return {
        "place": space.place,
        "set": space.named or None,
        "scenarios": [
            {
                "name": one.name,
                "relationship": one.relationship.words,
                "seats": len(one.goals),
                "ages": [list(ages) for ages in one.ages],
                "occupations": [list(suits) for suits in one.occupations],
                "rules_check": checked(one),
                "pairs": len(space.fitting(one)) if len(one.goals) == 2 else None,
                "stated_tasks": stated[one.name],
                "source": one.source,
            }
            for one in space.scenarios
        ],
        "characters": [
            {
                "name": one.name,
                "age": one.age,
                "occupation": one.occupation,
                "knows": [
                    {"name": other, "relationship": pair.relationship.words}
                    for pair in space.relationships
                    for other in pair.between
                    if one.name in pair.between and other != one.name
                ],
            }
            for one in space.characters
        ],
        "notes": list(space.notes),
    }


def checked(scenario: Scenario) -> list[str]:
    """What rules can check of a scenario: ``price``, ``time`` or ``split``, and ``secret``; empty: nothing."""
    terms = scenario.terms or Terms()
    kinds = []
    if isinstance(terms.deal, OneNumber):
        kinds.append("time" if terms.deal.clock else "price")
    elif terms.deal is not None:
        kinds.append("split")
    return kinds + ["secret"] * any(terms.keep)


SETS = {
    one.name: one
    for one in (
        TaskSet(
            "checkable",
            "scenarios whose goals rules can check",
            "Scenarios with price, time, split or keep; eight of the bundled ones are.",
            _checkable,
        ),
        TaskSet(
            "sotopia-hard",
            "20 tasks, the most difficult for GPT-4 (SOTOPIA, section 7)",
            "The authors' code (sotopia-pi) names their scenarios, the 14 of savoir-hard, six of them twice, and not "
            'their characters. What is needed: a file that states them as [[task]] under set = "sotopia-hard", or '
            "scores of models on the 450 tasks, from which the rule of section 7 chooses.",
            _stated("sotopia-hard", 20),
        ),
        TaskSet(
            "savoir-hard",
            "14 scenarios of the released benchmark (SAVOIR)",
            "What is needed: a folder with the profiles of the first release (EnvironmentProfile, AgentProfile, "
            "RelationshipProfile, EnvAgentComboStorage as the authors' database dumps them) in which these 14 are.",
            _published_hard,
        ),
        TaskSet(
            "stackelberg",
            "90 hard tasks (Stackelberg Speaker)",
            "Which 90 they are is not in the paper. What is needed: a file that states them as [[task]] under "
            'set = "stackelberg".',
            _stated("stackelberg", 90),
        ),
    )
}
"""By name; none of them is another one under a different name, and a corpus says which was played."""
