"""Who plays what: a scenario with its characters, and how tasks are drawn (SOTOPIA, sections 2.1 and 4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import permutations, product
from random import Random
from typing import Literal

from apportion.corpus.sotopia_markup import EVERYBODY, seat_viewer, shown_to
from apportion.environments.sotopia.goal_checks import Terms
from apportion.foundation.errors import InputError

Visibility = Literal["paper", "released"]


class Relationship(IntEnum):
    """How two characters know each other, with the numbers of the published profiles."""

    STRANGER = 0
    KNOW_BY_NAME = 1
    ACQUAINTANCE = 2
    FRIEND = 3
    ROMANTIC = 4
    FAMILY = 5

    @property
    def words(self) -> str:
        """As in a sentence.

        >>> Relationship.KNOW_BY_NAME.words
        'know by name'
        """
        return self.name.lower().replace("_", " ")


FIELDS = (
    "name", "age", "gender", "pronouns", "occupation", "public_info", "big_five", "moral_values", "schwartz_values",
    "decision_style", "personality", "secret",
)  # fmt: skip
"""Of a character, what may be told; ``secret`` is told to nobody else."""
ALL_BUT_SECRETS = FIELDS[:-1]

_CLOSE = dict.fromkeys((Relationship.FRIEND, Relationship.ROMANTIC, Relationship.FAMILY), ALL_BUT_SECRETS)
VISIBLE: dict[Visibility, dict[Relationship, tuple[str, ...]]] = {
    "paper": {
        # 2.1 has five relationships: somebody known by name alone is none of them, and is as hidden as a stranger.
        Relationship.STRANGER: (),
        Relationship.KNOW_BY_NAME: (),
        Relationship.ACQUAINTANCE: ("name", "pronouns", "occupation", "public_info"),
        **_CLOSE,
    },
    "released": {
        Relationship.STRANGER: (),
        Relationship.KNOW_BY_NAME: ("name",),
        Relationship.ACQUAINTANCE: ("name", "age", "gender", "pronouns", "occupation", "public_info"),
        **_CLOSE,
    },
}
"""By rule and relationship, the fields of the other that are seen; ``released`` is what version 0.1.4 shows."""


def seen(character: Character, relationship: Relationship, rule: Visibility) -> dict[str, object]:
    """What somebody in this relationship knows of a character: by field, without those that say nothing.

    >>> seen(Character("Ann Lee", age=40, occupation="baker"), Relationship.ACQUAINTANCE, "paper")
    {'name': 'Ann Lee', 'occupation': 'baker'}
    """
    return filled_fields(character, VISIBLE[rule][relationship])


def filled_fields(character: Character, fields: tuple[str, ...]) -> dict[str, object]:
    """Fields of a character, without those that say nothing."""
    return {field: value for field in fields if (value := getattr(character, field)) not in ("", (), None)}


BIG_FIVE = ("openness to experience", "conscientiousness", "extraversion", "agreeableness", "neuroticism")
MORAL_VALUES = ("care", "fairness", "loyalty", "authority", "purity")
SCHWARTZ_VALUES = (
    "self-direction", "stimulation", "hedonism", "achievement", "power", "security", "conformity", "tradition",
    "benevolence", "universalism",
)  # fmt: skip
DECISION_STYLES = ("directive", "analytical", "conceptual", "behavioral")
MOST_NAME = 100
_TAKEN = re.compile(r"you|the other person|person \d+|environment|nobody", re.IGNORECASE)


@dataclass(frozen=True)
class Character:
    """A profile; texts are data that somebody wrote or a model made up.

    ``big_five``, ``moral_values``, ``schwartz_values`` and ``decision_style`` are in free words, because the published
    profiles use more than the types of C.2.1 (`BIG_FIVE`, …), which generation asks for. ``secret_words`` are the
    phrases by which rules tell that the secret was given away; empty where only a judge can tell.

    Raises InputError: A name that is empty, longer than 100 characters, holds a line break, a quotation mark or a
    bracket, or is a word that stands for somebody unnamed; or a phrase of ``secret_words`` without words.
    """

    name: str
    age: int | None = None
    gender: str = ""
    pronouns: str = ""
    occupation: str = ""
    public_info: str = ""
    big_five: str = ""
    moral_values: tuple[str, ...] = ()
    schwartz_values: tuple[str, ...] = ()
    decision_style: str = ""
    personality: str = ""
    secret: str = ""
    secret_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        name = self.name
        if _TAKEN.fullmatch(name.strip()):
            raise InputError(f"character {name!r}: observations call somebody without a name so; choose another name")
        if not name.strip() or len(name) > MOST_NAME or not name.isprintable() or set(name) & set('"<>[]{}'):
            raise InputError(
                f"character {name!r:.120}: a name has 1 to {MOST_NAME} printable characters, "
                'and neither line breaks nor any of "<>[]{}'
            )
        if not all(phrase.strip() for phrase in self.secret_words):
            raise InputError(f"character {name!r}: a phrase of secret_words is empty; write words, or take it out")


def field_words(value: object) -> str:
    """A field of a profile as it is read: several values with commas between them.

    >>> field_words(("care", "loyalty")), field_words(37)
    ('care, loyalty', '37')
    """
    return ", ".join(value) if isinstance(value, tuple) else str(value)


@dataclass(frozen=True)
class Scenario:
    """What everybody knows, and each seat's goal.

    ``name``: Its id. ``context``: Place, time and whatever everybody knows; parts may be marked for one reader
    (`apportion.corpus.sotopia_markup`). ``goals``: By seat; private. ``relationship``: How the characters have to know
    each other. ``ages``: By seat, the youngest and the oldest that it suits. ``occupations``: By seat, the occupations
    that it suits; an empty one suits all. ``terms``: What rules can check of the goals. ``source``: Where it comes
    from. Raises InputError: Fewer than two goals, an empty one, or an empty context.
    """

    name: str
    context: str
    goals: tuple[str, ...]
    relationship: Relationship
    ages: tuple[tuple[int, int], ...] = ()
    occupations: tuple[tuple[str, ...], ...] = ()
    terms: Terms | None = None
    source: str = ""

    def __post_init__(self) -> None:
        if not self.public.strip():
            raise InputError(f"scenario {self.name!r}: the context is empty; say where and why they meet")
        if len(self.goals) < 2:
            raise InputError(f"scenario {self.name!r}: {len(self.goals)} goals; every agent has one, two at least")
        for seat, goal in enumerate(self.goals):
            if not shown_to(goal, seat_viewer(seat)).strip():
                raise InputError(f"scenario {self.name!r}: the goal of agent {seat + 1} is empty; every agent has one")

    def goal(self, seat: int) -> str:
        """A seat's goal as its agent reads it, without the marks around hints."""
        return shown_to(self.goals[seat], seat_viewer(seat))

    def seen_by(self, seat: int) -> str:
        """The context as the agent of a seat reads it."""
        return shown_to(self.context, seat_viewer(seat))

    @property
    def public(self) -> str:
        """The context as everybody reads it."""
        return shown_to(self.context, EVERYBODY)

    def broken(self, characters: Sequence[Character]) -> str | None:
        """Which constraint characters in these seats break, in words; None: none."""
        return next(self._broken(characters), None)

    def _broken(self, characters: Sequence[Character]) -> Iterator[str]:
        for seat, (character, (youngest, oldest)) in enumerate(zip(characters, self.ages, strict=False), 1):
            if character.age is not None and not youngest <= character.age <= oldest:
                yield f"agent {seat}, {character.name}, is {character.age}; allowed are {youngest} to {oldest}"
        for seat, (character, suits) in enumerate(zip(characters, self.occupations, strict=False), 1):
            own = character.occupation.casefold()
            if suits and not any(occupation.casefold() in own for occupation in suits):
                yield f"agent {seat}, {character.name}, is {character.occupation!r}; allowed are {', '.join(suits)}"


PAIRS_A_SCENARIO = 5
"""Section 4: 5 pairs of characters for each of 90 scenarios are 450 tasks."""


@dataclass(frozen=True)
class Task:
    """A scenario and who plays it, a character a seat.

    ``relationships`` holds, for pairs of names, what differs from the scenario's relationship (with more than two).

    Raises InputError: two characters of one name, or not one for each goal.
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

        Raises InputError: somebody is too young, too old, or has another occupation.
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

    ``scenario``: For two. ``characters``: Who there is. ``known``: By pair of names how they know each other; a pair
    that is not in it are strangers. ``pairs``: How many tasks at most; fewer where fewer pairs fit. ``seed``: Of the
    draw. Returns: In the order of the draw.
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
