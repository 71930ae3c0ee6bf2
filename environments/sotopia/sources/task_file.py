"""A file of characters, relationships, scenarios and tasks (TOML): what comes with the project has this form, too."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from apportion.environments.sotopia.goal_checks import Deal, OneNumber, Split, Terms
from apportion.environments.sotopia.sources.space import KnownPair, TaskSpace
from apportion.environments.sotopia.tasks import Character, Relationship, Scenario, Task
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.settings import Settings, problems
from apportion.foundation.toml_text import toml_key, toml_text

LARGEST = 64 * 1024 * 1024
RELATIONSHIPS = {one.words: one for one in Relationship}
"""By their words: ``stranger``, ``know by name``, ``acquaintance``, ``friend``, ``romantic``, ``family``."""
HIDDEN = frozenset(("goals", "secret", "secret_words", "keep"))
"""What is hidden from somebody who plays, and stands in no error."""

_Words = Annotated[str, Field(max_length=20_000)]
_Clock = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]


class CharacterRow(Settings):
    """A character, as `apportion.environments.sotopia.tasks.Character` has it."""

    name: str
    age: Annotated[int, Field(ge=0, le=150)] | None = None
    gender: _Words = ""
    pronouns: _Words = ""
    occupation: _Words = ""
    public_info: _Words = ""
    big_five: _Words = ""
    moral_values: tuple[_Words, ...] = ()
    schwartz_values: tuple[_Words, ...] = ()
    decision_style: _Words = ""
    personality: _Words = ""
    secret: _Words = ""
    secret_words: tuple[_Words, ...] = ()

    def made(self) -> Character:
        """The character; raises InputError where its name cannot be used."""
        return Character(**{name: getattr(self, name) for name in type(self).model_fields})


class RelationshipRow(Settings):
    """How two characters know each other."""

    between: tuple[str, str]
    kind: Annotated[str, Field(description="One of RELATIONSHIPS.")]
    story: _Words = ""

    def made(self) -> KnownPair:
        """The pair; raises InputError where there is no such relationship, or it is one person."""
        if self.between[0] == self.between[1]:
            raise InputError(f"a relationship of {self.between[0]!r} with the same name; two people have one")
        return KnownPair(self.between, relationship(self.kind), self.story)


class PriceRow(Settings):
    """A price that is agreed on: by seat the worst and the best, in dollars."""

    worst: tuple[float, ...]
    best: tuple[float, ...]


class TimeRow(Settings):
    """A time of day that is agreed on: by seat the worst and the best."""

    worst: tuple[_Clock, ...]
    best: tuple[_Clock, ...]


class SplitRow(Settings):
    """Things that are shared out: how many there are of each, and what one is worth to each seat."""

    counts: dict[str, Annotated[int, Field(ge=1)]]
    values: tuple[tuple[float, ...], tuple[float, ...]]


class ScenarioRow(Settings):
    """A scenario; at most one of ``price``, ``time`` and ``split`` is what rules check."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,80}$")]
    context: _Words
    goals: tuple[_Words, ...]
    relationship: str
    ages: tuple[tuple[int, int], ...] = ()
    occupations: tuple[tuple[str, ...], ...] = ()
    price: PriceRow | None = None
    time: TimeRow | None = None
    split: SplitRow | None = None
    keep: tuple[tuple[str, ...], ...] = ()
    source: _Words = ""

    @model_validator(mode="after")
    def _one_deal_and_a_value_a_seat(self) -> ScenarioRow:
        if sum(deal is not None for deal in (self.price, self.time, self.split)) > 1:
            raise ValueError("more than one of price, time and split; rules check one deal")
        seats = len(self.goals)
        for what, values in (
            *((name, getattr(self, name)) for name in ("ages", "occupations", "keep")),
            *((f"{kind}.{end}", getattr(deal, end)) for kind, deal in self._numbers() for end in ("worst", "best")),
        ):
            if values and len(values) != seats:
                raise ValueError(f"{what} has {len(values)} values for {seats} goals; one for each")
        return self

    def _numbers(self) -> Iterator[tuple[str, Settings]]:
        yield from ((name, deal) for name in ("price", "time") if (deal := getattr(self, name)) is not None)

    def made(self, source: str = "") -> Scenario:
        """The scenario, of ``source`` where it names none; raises InputError for what `Scenario` refuses."""
        return Scenario(
            self.name, self.context, self.goals, relationship(self.relationship), self.ages, self.occupations,
            self._terms(), self.source or source,
        )  # fmt: skip

    def _terms(self) -> Terms | None:
        deal: Deal | None = None
        if self.price is not None:
            deal = OneNumber(self.price.worst, self.price.best)
        elif self.time is not None:
            deal = OneNumber(_minutes(self.time.worst), _minutes(self.time.best), clock=True)
        elif self.split is not None:
            deal = Split(self.split.counts, self.split.values)
        return Terms(deal, self.keep) if deal is not None or self.keep else None


class TaskRow(Settings):
    """Who plays a scenario: names of characters, by seat."""

    scenario: str
    characters: tuple[str, ...]


class TaskFile(Settings):
    """The whole file; ``set`` is the named set that its tasks are."""

    set: str = ""
    character: tuple[CharacterRow, ...] = ()
    relationship: tuple[RelationshipRow, ...] = ()
    scenario: tuple[ScenarioRow, ...] = ()
    task: tuple[TaskRow, ...] = ()


def relationship(words: str) -> Relationship:
    """The relationship of these words; raises InputError, with all that there are, where none is called so."""
    plain = words.strip().lower().replace("_", " ")
    if plain not in RELATIONSHIPS:
        raise InputError(f"relationship {words!r}: there are {', '.join(RELATIONSHIPS)}")
    return RELATIONSHIPS[plain]


def read_task_file(path: Path) -> TaskSpace:
    """The task space of a file.

    Raises InputError: A file that cannot be read, a key or a value that is not allowed, a task of somebody who is not
    there or who breaks a constraint of its scenario: file and place are named.
    """
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise InputError(f"{path}: {size:,} bytes; a file of tasks has at most {LARGEST:,}")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as text ({error})") from None
    return task_space(text, str(path))


def task_space(text: str, place: str, source: str = "") -> TaskSpace:
    """The task space of a file's text, ``source`` that of scenarios that name none; raises as `read_task_file`."""
    try:
        file = TaskFile.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{place}: not TOML ({error})") from None
    except ValidationError as error:
        raise InputError(f"{place}: {'; '.join(refused(error)[:5])}") from None
    characters = tuple(_each(place, "character", file.character))
    relationships = tuple(_each(place, "relationship", file.relationship))
    scenarios = tuple(_each(place, "scenario", file.scenario, source))
    space = TaskSpace(place, characters, relationships, scenarios, named=file.set)
    tasks = tuple(_tasks(space, file.task))
    notes = (f"{space.twice()} pairs of characters have two relationships: the scenario's decides",) * (
        space.twice() > 0
    )
    return TaskSpace(place, characters, relationships, scenarios, tasks, named=file.set, notes=notes)


def _each(place: str, what: str, rows: Sequence[Any], *given: str) -> Iterator[Any]:
    for number, row in enumerate(rows, 1):
        try:
            yield row.made(*given)
        except InputError as error:
            raise InputError(f"{place}: {what} {number}: {error}") from None


def _tasks(space: TaskSpace, rows: Sequence[TaskRow]) -> Iterator[Task]:
    people = {one.name: one for one in space.characters}
    scenarios = {one.name: one for one in space.scenarios}
    for number, row in enumerate(rows, 1):
        place = f"{space.place}: task {number}"
        for what, names, there in (("scenario", (row.scenario,), scenarios), ("character", row.characters, people)):
            for name in names:
                if name not in there:
                    raise InputError(f"{place}: no {what} {name!r} here; {did_you_mean(name, there, 'add it')}")
        try:
            task = Task(scenarios[row.scenario], tuple(people[name] for name in row.characters))
            task.check()
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
        yield task


def written(space: TaskSpace, head: Sequence[str] = ()) -> str:
    """The text of the file that `read_task_file` reads back to the same; ``head`` are lines of comment."""
    lines = [f"# {line}".rstrip() for line in head]
    if space.named:
        lines += [f"set = {toml_text(space.named)}"]
    for one in space.characters:
        lines += table("character", character_row(one))
    for pair in space.relationships:
        lines += table("relationship", relationship_row(pair))
    for scenario in space.scenarios:
        lines += table("scenario", scenario_row(scenario))
    for task in space.tasks if space.exact else ():
        names = [one.name for one in task.characters]
        lines += table("task", {"scenario": task.scenario.name, "characters": names})
    return "\n".join(lines) + "\n"


def table(name: str, row: Mapping[str, Any], brackets: str = "[[]]") -> list[str]:
    """Lines of one table, a blank one before it; what is empty is left out."""
    half = len(brackets) // 2
    filled = [f"{toml_key(key)} = {toml_text(value)}" for key, value in row.items() if value not in ("", (), None, [])]
    return ["", f"{brackets[:half]}{name}{brackets[half:]}", *filled]


def character_row(character: Character) -> dict[str, Any]:
    """A character as its table."""
    return {name: getattr(character, name) for name in CharacterRow.model_fields}


def relationship_row(pair: KnownPair) -> dict[str, Any]:
    """A relationship as its table."""
    return {"between": pair.between, "kind": pair.relationship.words, "story": pair.story}


def scenario_row(scenario: Scenario) -> dict[str, Any]:
    """A scenario as its table."""
    row: dict[str, Any] = {
        "name": scenario.name,
        "context": scenario.context,
        "goals": scenario.goals,
        "relationship": scenario.relationship.words,
        "ages": scenario.ages,
        "occupations": scenario.occupations,
    }
    terms = scenario.terms or Terms()
    if isinstance(terms.deal, OneNumber):
        ends = {"worst": terms.deal.worst, "best": terms.deal.best}
        clock = {end: [_clock(value) for value in values] for end, values in ends.items()}
        row |= {"time": clock} if terms.deal.clock else {"price": ends}
    elif isinstance(terms.deal, Split):
        row["split"] = {"counts": terms.deal.counts, "values": terms.deal.values}
    return row | {"keep": terms.keep, "source": scenario.source}


def refused(error: ValidationError) -> list[str]:
    """What is wrong with values that were refused; what characters keep to themselves is not told."""
    texts = problems(error, counted_place)
    return [
        f"{counted_place('.'.join(map(str, item['loc'])))}: {item['msg']}" if HIDDEN & set(item["loc"]) else text
        for text, item in zip(texts, error.errors(), strict=True)
    ]


def counted_place(name: str) -> str:
    """``scenario.0.goals`` as a person counts: ``scenario 1: goals``."""
    table_name, _, rest = name.partition(".")
    number, _, field = rest.partition(".")
    return f"{table_name} {int(number) + 1}: {field}".rstrip(": ") if number.isdigit() else name


def _minutes(times: Sequence[str]) -> tuple[float, ...]:
    return tuple(60.0 * int(time[:2]) + int(time[3:]) for time in times)


def _clock(minutes: float) -> str:
    return f"{int(minutes) // 60:02d}:{int(minutes) % 60:02d}"
