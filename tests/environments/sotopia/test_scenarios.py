"""Scenarios and their constraints."""

import pytest

from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.tasks import Character, Relationship, Scenario, Task
from apportion.foundation.errors import InputError


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
