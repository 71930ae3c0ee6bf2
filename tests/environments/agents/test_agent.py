"""Scripted agents."""

from apportion.environments.agents.agent import RandomLegalAgent, ScriptedAgent
from apportion.environments.environment import Action, Observation
from tests.environments.games import Countdown


def test_a_random_agent_does_what_is_allowed_and_the_same_again() -> None:
    game = Countdown(["ann", "bob"])
    act = RandomLegalAgent().act(Observation(game, "ann"))
    assert act.kind in game.legal("ann") and act == RandomLegalAgent().act(Observation(game, "ann"))


def test_a_script_is_a_function_of_its_view() -> None:
    agent = ScriptedAgent("echo", lambda view: Action("pass", view.text), paid=True)
    assert agent.act(Observation(Countdown(["ann", "bob"]), "ann")).text.endswith("are left") and agent.paid
