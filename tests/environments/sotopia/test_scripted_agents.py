from functools import partial

import pytest

from apportion.environments.actions import Action
from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.collect_episodes import play
from apportion.environments.sotopia.agents import scripted
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.goal_checks import PHYSICAL
from apportion.environments.sotopia.observation import LEAVE, SPEAK
from apportion.environments.sotopia.scripted_agents import (
    CHAT,
    COLD,
    WARM,
    Conceding,
    TalkingAgent,
    WordSensitiveAgent,
    mood,
)
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.tasks import Task
from apportion.foundation.errors import InputError, UnitError

TASKS = {task.scenario.name: task for task in bundled_tasks.tasks(pairs=1)}


def sold(*words, seed=1):
    """What a seller reaches that says these words, then deals."""
    game = Sotopia(TASKS["used_bicycle"], Rules(most_acts=20))
    game.reset(seed)
    closing = TalkingAgent(0)

    def seller(view):
        said = view.step // 2
        return Action(SPEAK, words[said]) if said < len(words) else closing.act(view)

    play(game, dict(zip(game.agents, (ScriptedAgent("seller", seller), WordSensitiveAgent()), strict=True)))
    return game.outcome()[game.agents[0]]["GOAL"]


def test_words_move_what_is_offered():
    plain = sold(CHAT[0], CHAT[1])
    assert sold(COLD[0], COLD[1]) < sold(COLD[0], CHAT[0]) < plain < sold(WARM[0], CHAT[0]) < sold(WARM[0], WARM[1])
    # A second warm word counts less, a cold one after it more than before it: words depend on each other.
    assert mood([(0, Action(SPEAK, WARM[0]))] * 2) < 2 * mood([(0, Action(SPEAK, WARM[0]))])
    assert sold(WARM[0], COLD[0]) < sold(COLD[0], WARM[0])


@pytest.mark.parametrize(("closing", "acts"), [(10, 7), (12, 8), (14, 9), (16, 10)])
def test_it_talks_until_its_step_and_makes_a_deal(closing, acts):
    game = Sotopia(TASKS["used_bicycle"], Rules(most_acts=20))
    game.reset(3)
    agents = (scripted(f"talking@{closing}"), scripted("moody"))
    assert agents == (TalkingAgent(closing), WordSensitiveAgent()) and agents[0].called == f"talking@{closing}"
    play(game, dict(zip(game.agents, agents, strict=True)))
    own = [act for seat, act in game.acts if seat == 0]
    assert len(own) == acts and own[-1] == Action(PHYSICAL, "accept") and game.acts[-1][1].kind == LEAVE
    assert {act.text for act in own[:-2]} <= {*WARM, *COLD, *CHAT}


def test_who_made_the_agreed_offer_leaves():
    game = Sotopia(TASKS["used_bicycle"], Rules(most_acts=20))
    game.reset(3)
    taking = ScriptedAgent("taking", lambda view: Action(PHYSICAL, "accept") if view.step else Action(SPEAK, "Hello."))
    play(game, dict(zip(game.agents, (taking, TalkingAgent(0)), strict=True)))
    assert [act.kind for _, act in game.acts] == [SPEAK, PHYSICAL, PHYSICAL, LEAVE]


def test_what_cannot_be_is_told():
    for name in ("talking@soon", "talking@-1", "talking@²"):
        with pytest.raises(InputError, match=r"it closes at a step, a whole number, as talking@12"):
            scripted(name)
    with pytest.raises(InputError, match=r"'talking' needs what it is made of behind an @, as talking@12"):
        scripted("talking")
    task = next(task for task in TASKS.values() if task.scenario.terms is None or task.scenario.terms.deal is None)
    game = Sotopia(task, Rules(most_acts=4))
    game.reset(1)
    with pytest.raises(UnitError, match="this scenario has nothing to agree on"):
        play(game, dict.fromkeys(game.agents, WordSensitiveAgent()))


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
