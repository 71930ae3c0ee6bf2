"""An episode of SOTOPIA."""

import pytest

from apportion.environments.environment import Action, InvalidActionError
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.tasks import Task
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


def test_a_clone_plays_on_by_itself() -> None:
    game = played(SPEAK, SPEAK)
    clone = game.clone()
    clone.do(LEAVE)
    assert clone.over and not game.over and len(game.acts) == 2 and len(clone.steps) == 3


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
