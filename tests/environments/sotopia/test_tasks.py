"""Who plays what."""

import pytest

from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.tasks import Character, Relationship, Scenario, Task, draw_tasks
from apportion.foundation.errors import InputError

SCENARIO = Scenario("s", "x", ("a", "b"), Relationship.STRANGER, ages=((0, 50), (0, 99)))


def test_pairs_know_each_other_as_the_scenario_wants_and_come_once() -> None:
    known = bundled_tasks.relationships()
    for scenario in bundled_tasks.scenarios():
        tasks = draw_tasks(scenario, bundled_tasks.characters(), known, seed=1)
        pairs = [frozenset(one.name for one in task.characters) for task in tasks]
        assert 1 <= len(tasks) <= 5 and len(set(pairs)) == len(pairs)
        assert {known.get(pair, Relationship.STRANGER) for pair in pairs} == {scenario.relationship}


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


@pytest.mark.parametrize("name", ["", "  ", "a" * 101, "Ann\nGoal: none", 'Ann "the" Lee', "Ann\x00"])
def test_a_name_is_a_name(name: str) -> None:
    with pytest.raises(InputError, match="1 to 100 printable characters"):
        Character(name)


@pytest.mark.parametrize("name", ["You", "the other person", "person 2", "Environment", "nobody"])
def test_a_name_that_stands_for_somebody_else_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="choose another name"):
        Character(name)


def test_names_of_all_languages_are_names() -> None:
    assert Character("Åsa Öberg-O'Neill").name and Character("山田 花子").name


def test_the_marks_around_hints_are_gone_from_what_the_agent_reads() -> None:
    goal = "Sell it (<extra_info>Extra information: slowly.<strategy_hint>Hint: smile.</strategy_hint></extra_info>)"
    scenario = Scenario("s", "A yard", (goal, "Buy it"), Relationship.STRANGER)
    assert scenario.goal(0) == "Sell it (Extra information: slowly.Hint: smile.)" and scenario.goal(1) == "Buy it"


@pytest.mark.parametrize(
    ("context", "goals", "message"),
    [
        (" ", ("a", "b"), "the context is empty"),
        ("x", ("a",), "1 goals"),
        ("x", ("a", " \n"), "the goal of agent 2 is empty"),
    ],
)
def test_a_scenario_says_where_and_why(context: str, goals: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Scenario("s", context, goals, Relationship.FRIEND)


def test_constraints_name_who_breaks_them() -> None:
    scenario = Scenario(
        "s", "x", ("a", "b"), Relationship.FRIEND, ages=((18, 30), (18, 30)), occupations=((), ("student",))
    )
    young = Character("Ann", 20, occupation="PhD Student")
    assert scenario.broken((young, young)) is None
    assert scenario.broken((young, Character("Bob", 40))) == "agent 2, Bob, is 40; allowed are 18 to 30"
    assert scenario.broken((young, Character("Bob", 20, occupation="cook"))) == (
        "agent 2, Bob, is 'cook'; allowed are student"
    )


def test_what_is_marked_for_one_reader_reaches_no_other() -> None:
    context = 'A party. <p viewer="environment">Both know Al.</p><p viewer="agent_1">You are the host.</p>'
    scenario = Scenario("s", context, ("Find a friend", "Dance"), Relationship.STRANGER)
    game = Sotopia(Task(scenario, (Character("Ann Lee"), Character("Bob Ray"))))
    game.reset(0)
    views = [game.observe(name) for name in game.agents]
    assert not any("Al." in view for view in views) and ["the host" in view for view in views] == [False, True]
    rows = [row for row in game.backgrounds() if row[1] == "scenario"]
    assert rows == [(None, "scenario", "A party. "), ("Bob Ray", "scenario", "A party. You are the host.")]
