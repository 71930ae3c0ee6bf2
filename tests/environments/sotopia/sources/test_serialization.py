"""A task as JSON, whole."""

import json
from dataclasses import replace

import pytest

from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.sources.serialization import bundled_task, is_bundled, task_of, task_record
from apportion.environments.sotopia.tasks import Relationship, Task
from apportion.foundation.errors import InputError
from apportion.foundation.files import canonical_json

TASKS = bundled_tasks.tasks()


def test_every_bundled_task_comes_back_from_its_record() -> None:
    """Through the log's own JSON, which sorts keys: counts of things are in an order that offers depend on."""
    for task in TASKS:
        back = task_of(json.loads(canonical_json(task_record(task))))
        assert back == task
        deal, again = (one.scenario.terms and one.scenario.terms.deal for one in (task, back))
        if deal is not None and hasattr(deal, "counts"):
            assert list(deal.counts) == list(again.counts)


def test_ages_occupations_and_relationships_of_three_come_back() -> None:
    people = bundled_tasks.characters()[:3]
    scenario = replace(
        TASKS[0].scenario,
        goals=("a", "b", "c"),
        ages=((18, 30), (0, 99)),
        occupations=((), ("baker", "cook")),
        terms=None,
    )
    pair = frozenset((people[0].name, people[2].name))
    task = Task(scenario, people, {pair: Relationship.KNOW_BY_NAME})
    assert task_of(json.loads(canonical_json(task_record(task)))) == task


def test_names_are_enough_for_bundled_tasks_alone() -> None:
    task = TASKS[0]
    assert is_bundled(task) and bundled_task(task.scenario.name, tuple(c.name for c in task.characters)) == task
    assert not is_bundled(replace(task, scenario=replace(task.scenario, goals=("other", "goals"))))
    assert bundled_task("nowhere", ("Ann", "Bob")) is None
    assert bundled_task(task.scenario.name, ("Ann", "Bob")) is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda record: record.pop("characters"), "no record of a task: KeyError"),
        (lambda record: record["scenario"].update(relationship="enemies"), "no record of a task: KeyError"),
        (lambda record: record["scenario"].update(goals=["", ""]), "the goal of agent 1 is empty"),
        (lambda record: record["scenario"].update(ages=[[1]]), "no record of a task: ValueError"),
        (lambda record: record["characters"].pop(), "1 characters for 2 goals"),
    ],
)
def test_what_is_no_task_is_told(change, told: str) -> None:
    record = task_record(TASKS[0])
    change(record)
    with pytest.raises(InputError, match=told):
        task_of(record)
    with pytest.raises(InputError, match="no record of a task"):
        task_of(["no", "task"])
