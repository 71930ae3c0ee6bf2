"""A task as JSON, whole: so that a log holds what was played where no bundled task of the same names is the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from apportion.environments.sotopia.goal_checks import Deal, OneNumber, Split, Terms
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.tasks import Character, Relationship, Scenario, Task
from apportion.foundation.errors import InputError


def task_record(task: Task) -> dict[str, Any]:
    """Everything that a task is, as JSON values; `task_of` reads it.

    >>> task = bundled_tasks.tasks()[0]
    >>> task_of(task_record(task)) == task
    True
    """
    scenario = task.scenario
    return {
        "scenario": {
            **{name: getattr(scenario, name) for name in ("name", "context", "source")},
            "goals": list(scenario.goals),
            "relationship": scenario.relationship.words,
            "ages": [list(ages) for ages in scenario.ages],
            "occupations": [list(suits) for suits in scenario.occupations],
            "terms": None if scenario.terms is None else _terms_record(scenario.terms),
        },
        "characters": [{name: _listed(value) for name, value in asdict(one).items()} for one in task.characters],
        "relationships": [[*sorted(pair), kind.words] for pair, kind in sorted(task.relationships.items(), key=_names)],
    }


def task_of(record: Any) -> Task:
    """The task that `task_record` has written.

    Raises InputError: it is none, or one that cannot be played; the text says why.
    """
    try:
        scenario = dict(record["scenario"])
        terms = scenario.pop("terms")
        made = Scenario(
            goals=tuple(scenario.pop("goals")),
            relationship=_kind(scenario.pop("relationship")),
            ages=tuple((int(low), int(high)) for low, high in scenario.pop("ages")),
            occupations=tuple(tuple(suits) for suits in scenario.pop("occupations")),
            terms=None if terms is None else _terms(terms),
            **scenario,
        )
        characters = tuple(Character(**{n: _frozen(v) for n, v in one.items()}) for one in record["characters"])
        known = {frozenset((one, other)): _kind(kind) for one, other, kind in record["relationships"]}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"no record of a task: {error!r:.200}") from None
    return Task(made, characters, known)


def bundled_task(scenario: str, characters: tuple[str, ...]) -> Task | None:
    """The bundled task of these names, in the order of the seats; None where one of them is not bundled."""
    scenarios = {one.name: one for one in bundled_tasks.scenarios()}
    known = {one.name: one for one in bundled_tasks.characters()}
    if scenario not in scenarios or not set(characters) <= set(known):
        return None
    return Task(scenarios[scenario], tuple(known[name] for name in characters))


def is_bundled(task: Task) -> bool:
    """Whether a task's names are enough to find it again."""
    return bundled_task(task.scenario.name, tuple(one.name for one in task.characters)) == task


def _terms_record(terms: Terms) -> dict[str, Any]:
    deal = terms.deal
    record: dict[str, Any] = {"keep": [list(phrases) for phrases in terms.keep]}
    if isinstance(deal, OneNumber):
        record["number"] = {"worst": list(deal.worst), "best": list(deal.best), "clock": deal.clock}
    elif isinstance(deal, Split):
        values = [list(one) for one in deal.values]
        # Pairs, because offers are counted in this order and JSON objects are written in another.
        record["split"] = {"counts": [[*item] for item in deal.counts.items()], "values": values, "money": deal.money}
    return record


def _terms(record: Mapping[str, Any]) -> Terms:
    deal: Deal | None = None
    if number := record.get("number"):
        deal = OneNumber(_numbers(number["worst"]), _numbers(number["best"]), bool(number["clock"]))
    elif split := record.get("split"):
        counts = {str(thing): int(count) for thing, count in split["counts"]}
        deal = Split(counts, tuple(_numbers(one) for one in split["values"]), bool(split["money"]))
    return Terms(deal, tuple(tuple(phrases) for phrases in record["keep"]))


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _kind(words: str) -> Relationship:
    return Relationship[words.upper().replace(" ", "_")]


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _names(item: tuple[frozenset[str], Relationship]) -> list[str]:
    return sorted(item[0])
