"""Who plays what: a scenario with its characters, and how tasks are drawn (SOTOPIA, sections 2.1 and 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from random import Random

from apportion.environments.sotopia.characters import Character
from apportion.environments.sotopia.scenarios import Scenario
from apportion.environments.sotopia.visibility import Relationship
from apportion.foundation.errors import InputError

PAIRS_A_SCENARIO = 5
"""Section 4: 5 pairs of characters for each of 90 scenarios are 450 tasks."""


@dataclass(frozen=True)
class Task:
    """A scenario and who plays it, a character a seat.

    ``relationships`` holds, for pairs of names, what differs from the scenario's relationship (with more than two).

    Raises
    ------
    InputError
        Two characters of one name, or not one for each goal.
    """

    scenario: Scenario
    characters: tuple[Character, ...]
    relationships: Mapping[frozenset[str], Relationship] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [character.name for character in self.characters]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"scenario {self.scenario.name!r}: two characters are called {name!r}")
        if len(names) != len(self.scenario.goals):
            raise InputError(
                f"scenario {self.scenario.name!r}: {len(names)} characters for {len(self.scenario.goals)} goals"
            )

    def check(self) -> None:
        """Hold the characters to the scenario's constraints, which a tenth of the published tasks break.

        Raises
        ------
        InputError
            Somebody is too young, too old, or has another occupation.
        """
        broken = self.scenario.broken(self.characters)
        if broken is not None:
            raise InputError(f"scenario {self.scenario.name!r}: {broken}")

    def between(self, one: Character, other: Character) -> Relationship:
        """How two of its characters know each other."""
        return self.relationships.get(frozenset((one.name, other.name)), self.scenario.relationship)


def draw_tasks(
    scenario: Scenario,
    characters: Sequence[Character],
    known: Mapping[frozenset[str], Relationship],
    *,
    pairs: int = PAIRS_A_SCENARIO,
    seed: int | str = 0,
) -> list[Task]:
    """Tasks of a scenario for two: pairs of characters who know each other as it wants, drawn without repetition.

    Parameters
    ----------
    scenario : Scenario
        For two.
    characters : sequence of Character
        Who there is.
    known : mapping of frozenset of str to Relationship
        By pair of names how they know each other; a pair that is not in it are strangers.
    pairs : int
        How many tasks at most; fewer where fewer pairs fit.
    seed : int or str
        Of the draw.

    Returns
    -------
    tasks : list of Task
        In the order of the draw.
    """
    fitting = [
        pair
        for pair in permutations(characters, 2)
        if known.get(frozenset((pair[0].name, pair[1].name)), Relationship.STRANGER) == scenario.relationship
        and scenario.broken(pair) is None
    ]
    return draw_pairs(scenario, fitting, pairs=pairs, seed=seed)


def draw_pairs(
    scenario: Scenario, fitting: Sequence[tuple[Character, ...]], *, pairs: int = PAIRS_A_SCENARIO, seed: int | str = 0
) -> list[Task]:
    """Tasks of ``fitting`` groups of characters, at most ``pairs``, drawn without the same people twice."""
    drawn = Random(f"{seed}/{scenario.name}").sample(fitting, len(fitting))
    unordered: set[frozenset[str]] = set()
    tasks: list[Task] = []
    for group in drawn:
        names = frozenset(one.name for one in group)
        if names not in unordered and len(tasks) < pairs:
            unordered.add(names)
            tasks.append(Task(scenario, group))
    return tasks


def seatings(agents: Iterable[str], seats: int = 2) -> Iterator[tuple[str, ...]]:
    """Every ordered choice of agents for the seats, an agent with itself among them (section 4: all model pairs).

    >>> list(seatings(["a", "b"]))
    [('a', 'a'), ('a', 'b'), ('b', 'a'), ('b', 'b')]
    """
    return product(tuple(agents), repeat=seats)
