"""Scripted agents."""

from apportion.environments.agents.agent import AnyLegal, Scripted
from apportion.environments.core import Act, View
from tests.environments.games import Countdown


def test_a_random_agent_does_what_is_allowed_and_the_same_again() -> None:
    game = Countdown(["ann", "bob"])
    act = AnyLegal().act(View(game, "ann"))
    assert act.kind in game.legal("ann") and act == AnyLegal().act(View(game, "ann"))


def test_a_script_is_a_function_of_its_view() -> None:
    agent = Scripted("echo", lambda view: Act("pass", view.text), paid=True)
    assert agent.act(View(Countdown(["ann", "bob"]), "ann")).text.endswith("are left") and agent.paid
