"""Who plays what."""

import pytest

from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.tasks import Character, Relationship, Scenario, Task, draw_tasks, seatings
from apportion.foundation.errors import InputError

SCENARIO = Scenario("s", "x", ("a", "b"), Relationship.STRANGER, ages=((0, 50), (0, 99)))


def test_pairs_know_each_other_as_the_scenario_wants_and_come_once() -> None:
    known = bundled_tasks.relationships()
    for scenario in bundled_tasks.scenarios():
        tasks = draw_tasks(scenario, bundled_tasks.characters(), known, seed=1)
        pairs = [frozenset(one.name for one in task.characters) for task in tasks]
        assert 1 <= len(tasks) <= 5 and len(set(pairs)) == len(pairs)
        assert {known.get(pair, Relationship.STRANGER) for pair in pairs} == {scenario.relationship}


def test_the_draw_is_the_seed_s() -> None:
    draws = [[task.characters for task in bundled_tasks.tasks(seed=seed)] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_constraints_hold_in_a_draw_and_are_checked_on_demand() -> None:
    old, young = Character("Old", 60), Character("Young", 20)
    tasks = draw_tasks(SCENARIO, [old, young], {})
    assert [task.characters for task in tasks] == [(young, old)]
    tasks[0].check()
    with pytest.raises(InputError, match="scenario 's': agent 1, Old, is 60; allowed are 0 to 50"):
        Task(SCENARIO, (old, young)).check()


def test_a_task_has_a_character_a_goal_each_of_a_name_of_its_own() -> None:
    with pytest.raises(InputError, match="two characters are called 'Ann'"):
        Task(SCENARIO, (Character("Ann", 20), Character("Ann", 30)))
    with pytest.raises(InputError, match="1 characters for 2 goals"):
        Task(SCENARIO, (Character("Ann", 20),))


def test_all_ordered_pairs_of_agents() -> None:
    assert len(list(seatings("abc"))) == 9 and len(list(seatings("ab", 3))) == 8
