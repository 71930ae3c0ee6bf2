"""An episode of SOTOPIA."""

import pytest

from apportion.environments.environment import Action, InvalidActionError
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.tasks import Character, Relationship, Scenario, Task, draw_tasks
from apportion.foundation.errors import InputError

TASK = bundled_tasks.tasks()[0]
SPEAK, NONE, LEAVE = Action("speak", "Hm."), Action("none"), Action("leave")


def played(*acts: Action, rules: Rules | None = None) -> Sotopia:
    game = Sotopia(TASK, rules)
    for act in acts:
        game.do(act)
    return game


@pytest.mark.parametrize(
    ("acts", "rules", "over"),
    [
        ([SPEAK] * 19, None, False),
        ([SPEAK] * 20, None, True),
        ([SPEAK] * 4, Rules(most_acts=4), True),
        ([SPEAK, LEAVE], None, True),
        ([NONE, NONE], None, False),
        ([NONE, NONE, NONE], None, True),
        ([NONE, NONE, SPEAK, NONE], None, False),
        ([NONE] * 19, Rules(most_silent=0), False),
    ],
)
def test_when_it_ends(acts: list[Action], rules: Rules | None, over: bool) -> None:
    game = played(*acts, rules=rules)
    assert game.over is over and (game.acting() == ()) is over


def test_acts_without_words_or_with_too_many_are_refused() -> None:
    game = Sotopia(TASK)
    with pytest.raises(InvalidActionError, match="'speak' without words; say what, or do 'none'"):
        game.do(Action("speak", " "))
    with pytest.raises(InvalidActionError, match="20,001 characters at once"):
        game.do(Action("speak", "a" * 20_001))
    assert game.acts == []


def test_limits_that_are_none_are_refused() -> None:
    for rules in ({"most_acts": 0}, {"most_silent": -1}):
        with pytest.raises(InputError, match="at least 1 and 0"):
            Rules(**rules)  # type: ignore[arg-type]


def test_what_is_said_and_known_goes_to_the_corpus() -> None:
    game = played(SPEAK, Action("physical action", "opens the door"), NONE)
    assert [game.said(move) for moves in game.steps for move in moves] == [
        "Hm.",
        "[physical action] opens the door",
        "[none] did nothing",
    ]
    rows = game.backgrounds()
    assert rows[0] == (None, "scenario", TASK.scenario.context)
    assert [(speaker, kind) for speaker, kind, _ in rows[1:]] == [
        (name, kind) for name in game.agents for kind in ("goal", "profile")
    ]
    assert set(game.scales()) == set(game.outcome()[game.agents[0]])


def test_three_agents_act_in_their_order() -> None:
    from dataclasses import replace

    scenario = replace(bundled_tasks.scenarios()[8], goals=("a", "b", "c"))
    game = Sotopia(Task(scenario, bundled_tasks.characters()[:3]))
    seen = []
    for _ in range(6):
        seen += game.acting()
        game.do(SPEAK)
    assert seen == list(game.agents) * 2
    assert "person 3" in Sotopia(
        Task(replace(scenario, relationship=scenario.relationship.STRANGER), bundled_tasks.characters()[:3])
    ).observe(game.agents[0])


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
