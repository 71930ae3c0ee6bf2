"""Scripted characters."""

from functools import partial

import pytest

from apportion.environments.collect_episodes import play
from apportion.environments.environment import Observation
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.goal_checks import OneNumber, Split
from apportion.environments.sotopia.scripted_agents import Conceding, worded
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.tasks import Task


@pytest.mark.parametrize("task", bundled_tasks.tasks(pairs=1), ids=lambda task: task.scenario.name)
def test_two_who_concede_agree_and_leave(task: Task) -> None:
    game = Sotopia(task)
    agents = {name: Conceding() for name in game.agents}
    play(game, agents)
    assert game.steps[-1][0].act.kind == "leave" and len(game.steps) < 20
    if task.scenario.terms is not None and task.scenario.terms.deal is not None:
        assert all((value["GOAL"] or 0) >= 2.0 for value in game.outcome().values())


def test_who_concedes_less_gets_more() -> None:
    (task,) = bundled_tasks.tasks(only=bundled_tasks.scenarios()[:1], pairs=1)
    game = Sotopia(task)
    firm = partial(Conceding, patience=6, least=0.6)
    play(game, dict(zip(game.agents, (firm(), Conceding()), strict=True)))
    first, second = (game.outcome()[name]["GOAL"] for name in game.agents)
    assert first is not None and second is not None and first > second > 0


def test_an_offer_asks_for_what_is_wanted() -> None:
    split = Split({"book": 3, "lamp": 2, "clock": 1}, ((1.0, 2.0, 3.0),))
    assert (
        worded(split, 1.0) == "3 book, 2 lamp, 1 clock"
        and split.worth(split.read(worded(split, 0.5)) or (), 0, 0) >= 0.5
    )
    assert worded(OneNumber((1080.0,), (1230.0,), clock=True), 0.2) == "18:30"


def test_the_same_view_gives_the_same_act() -> None:
    game = Sotopia(bundled_tasks.tasks()[0])
    agent = Conceding()
    assert agent.act(Observation(game, game.agents[0])) == agent.act(Observation(game.clone(), game.agents[0]))
