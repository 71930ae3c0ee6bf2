"""The published profiles of SOTOPIA: characters, scenarios, relationships and who plays what.

A folder of `AgentProfile.json`, `EnvironmentProfile.json`, `RelationshipProfile.json` and `EnvAgentComboStorage.json`,
each also as `.json.gz`, as `sotopia` dumps them from its database. The authors' data sets are CC BY-SA 4.0.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from apportion.corpus.files.textfile import read_bytes
from apportion.environments.sotopia.sources.space import KnownPair, TaskSpace
from apportion.environments.sotopia.tasks import Character, Relationship, Scenario, Task
from apportion.foundation.errors import InputError

LICENCE = "SOTOPIA's published profiles are CC BY-SA 4.0 (sotopia-lab/sotopia)"
_WORD = re.compile(r"[^\[\]'\"]+")
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Published:
    """What a folder of profiles holds, by id.

    ``known`` by pair of names how characters know each other, and with ``stories`` why; where two profiles of one pair
    differ it is the last, and the scenario's relationship decides; ``pairs`` are all of them. ``tasks`` are the
    published combinations, by id.
    """

    characters: Mapping[str, Character]
    scenarios: Mapping[str, Scenario]
    known: Mapping[frozenset[str], Relationship]
    stories: Mapping[frozenset[str], str]
    tasks: Mapping[str, Task]
    notes: tuple[str, ...]
    pairs: tuple[KnownPair, ...] = ()

    def space(self, place: str) -> TaskSpace:
        """All as a task space, whose tasks are drawn from the published combinations that keep their constraints."""
        return TaskSpace(
            place, tuple(self.characters.values()), self.pairs, tuple(self.scenarios.values()),
            tuple(self.tasks.values()), exact=False, notes=(LICENCE, *self.notes),
        )  # fmt: skip


def read_published(folder: Path) -> Published:
    """Read a folder of published profiles.

    Raises InputError: A file that is missing, is no JSON, or holds a profile that cannot be read: file, number and
    field are named.
    """
    characters = _each(folder, "AgentProfile", lambda row: (row["pk"], _character(row)))
    scenarios = _each(folder, "EnvironmentProfile", lambda row: (row["pk"], _scenario(row)))
    known: dict[frozenset[str], Relationship] = {}
    stories: dict[frozenset[str], str] = {}
    pairs: list[KnownPair] = []
    twice = 0

    def relationship(row: Mapping[str, Any]) -> tuple[str, None]:
        nonlocal twice
        names = (characters[row["agent_1_id"]].name, characters[row["agent_2_id"]].name)
        pair = frozenset(names)
        kind = Relationship(row["relationship"])
        twice += known.get(pair, kind) != kind
        known[pair], stories[pair] = kind, row.get("background_story") or ""
        pairs.append(KnownPair(names, kind, stories[pair]))
        return row["pk"], None

    _each(folder, "RelationshipProfile", relationship)

    def task(row: Mapping[str, Any]) -> tuple[str, Task]:
        players = tuple(characters[name] for name in row["agent_ids"])
        return row["pk"], Task(scenarios[row["env_id"]], players)

    tasks = _each(folder, "EnvAgentComboStorage", task)
    broken = sum(task.scenario.broken(task.characters) is not None for task in tasks.values())
    counts = {
        "pairs of characters have two relationships: the scenario's decides": twice,
        "tasks break an age or an occupation that their scenario asks for: kept as published, never drawn": broken,
    }
    notes = tuple(f"{count} {what}" for what, count in counts.items() if count)
    return Published(characters, scenarios, known, stories, tasks, notes, tuple(pairs))


def _each(folder: Path, name: str, read: Callable[[Mapping[str, Any]], tuple[str, _Value]]) -> dict[str, _Value]:
    path, rows = _rows(folder, name)
    values: dict[str, _Value] = {}
    for number, row in enumerate(rows, 1):
        try:
            key, value = read(row)
        except InputError as error:
            raise InputError(f"{path}: profile {number}: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{path}: profile {number}: no {name} as SOTOPIA publishes them ({error!r})") from None
        values[key] = value
    return values


def _rows(folder: Path, name: str) -> tuple[Path, list[Any]]:
    plain, packed = folder / f"{name}.json", folder / f"{name}.json.gz"
    path = plain if plain.exists() else packed
    if not path.exists():
        raise InputError(f"{folder}: neither {plain.name} nor {packed.name}; give a folder of SOTOPIA's profiles")
    try:
        rows = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(rows, list):
        raise InputError(f"{path}: a list of profiles is expected, this is {type(rows).__name__}")
    return path, rows


def _character(row: Mapping[str, Any]) -> Character:
    return Character(
        f"{row['first_name']} {row['last_name']}".strip(),
        int(row["age"]),
        _text(row, "gender"),
        _text(row, "gender_pronoun"),
        _text(row, "occupation"),
        _text(row, "public_info"),
        _text(row, "big_five"),
        _words(row.get("moral_values")),
        _words(row.get("schwartz_personal_values")),
        _text(row, "decision_making_style"),
        _text(row, "personality_and_values"),
        _text(row, "secret"),
    )


def _scenario(row: Mapping[str, Any]) -> Scenario:
    return Scenario(
        row["pk"],
        row["scenario"],
        tuple(row["agent_goals"]),
        Relationship(row["relationship"]),
        tuple((int(low), int(high)) for low, high in _listed(row.get("age_constraint"))),
        _occupations(row.get("occupation_constraint")),
        source=f"{_text(row, 'codename')} ({_text(row, 'source')})",
    )


def _occupations(text: Any) -> tuple[tuple[str, ...], ...]:
    """By seat; a seat is a list of occupations, or one alone. Words hang together by spaces or by underscores."""
    seats = ([jobs] if isinstance(jobs, str) else jobs for jobs in _listed(text))
    return tuple(tuple(job.replace("_", " ") for job in jobs if job not in ("nan", "any")) for jobs in seats)


def _text(row: Mapping[str, Any], field: str) -> str:
    value = row.get(field)
    return "" if value is None or value == "nan" or (isinstance(value, float) and math.isnan(value)) else str(value)


def _words(values: Any) -> tuple[str, ...]:
    """Values that were printed as Python lists and cut at commas: ``["['Authority'", " ' Care']"]``."""
    return tuple(word.strip() for value in values or () for word in _WORD.findall(str(value)) if word.strip(" ,"))


def _listed(text: Any) -> list[Any]:
    """A list that was stored as its Python text; nothing where there is none."""
    if not isinstance(text, str) or text in ("", "nan"):
        return []
    value = ast.literal_eval(text)
    if not isinstance(value, list):
        raise ValueError(f"a list is expected, this is {text!r:.100}")
    return value
