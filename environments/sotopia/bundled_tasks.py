"""The characters and scenarios that come with the project, and the tasks made of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from environments.sotopia.characters import Character
from environments.sotopia.scenarios import Scenario
from environments.sotopia.tasks import PAIRS_A_SCENARIO, Task, draw_tasks
from environments.sotopia.terms import Deal, OneNumber, Split, Terms
from environments.sotopia.visibility import Relationship

BUNDLED = "environments.sotopia.bundled"
SOURCE = "apportion"


@cache
def characters() -> tuple[Character, ...]:
    """The eight characters."""
    return tuple(Character(**{k: _frozen(v) for k, v in row.items()}) for row in _read("characters.toml")["character"])


@cache
def relationships() -> Mapping[frozenset[str], Relationship]:
    """By pair of names how they know each other; who is not in it are strangers."""
    rows = _read("characters.toml")["relationship"]
    return {frozenset(row["between"]): Relationship[row["kind"].upper().replace(" ", "_")] for row in rows}


@cache
def scenarios() -> tuple[Scenario, ...]:
    """The twelve scenarios, those that rules can check first."""
    return tuple(_scenario(row) for row in _read("scenarios.toml")["scenario"])


def tasks(*, seed: int | str = 0, pairs: int = PAIRS_A_SCENARIO, only: Sequence[Scenario] | None = None) -> list[Task]:
    """Tasks of the bundled scenarios, up to ``pairs`` of each."""
    chosen = scenarios() if only is None else only
    return [task for one in chosen for task in draw_tasks(one, characters(), relationships(), pairs=pairs, seed=seed)]


def _scenario(row: Mapping[str, Any]) -> Scenario:
    return Scenario(
        row["name"],
        row["context"],
        tuple(row["goals"]),
        Relationship[row["relationship"].upper().replace(" ", "_")],
        terms=_terms(row),
        source=SOURCE,
    )


def _terms(row: Mapping[str, Any]) -> Terms | None:
    deal: Deal | None = None
    if price := row.get("price"):
        deal = OneNumber(_numbers(price["worst"]), _numbers(price["best"]))
    elif time := row.get("time"):
        deal = OneNumber(_minutes(time["worst"]), _minutes(time["best"]), clock=True)
    elif split := row.get("split"):
        deal = Split(split["counts"], tuple(_numbers(values) for values in split["values"]))
    keep = tuple(tuple(phrases) for phrases in row.get("keep", ()))
    return Terms(deal, keep) if deal is not None or keep else None


def _numbers(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _minutes(times: Sequence[str]) -> tuple[float, ...]:
    return tuple(60.0 * int(time[:2]) + int(time[3:]) for time in times)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(BUNDLED).joinpath(name).read_text(encoding="utf-8"))
