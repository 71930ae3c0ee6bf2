"""An agent that has to act in time."""

from __future__ import annotations

import threading

import pytest

from apportion.environments.agents.agent import TIMED_OUT, ScriptedAgent, TimeLimitedAgent
from apportion.environments.collect_episodes import EpisodePlan, simulate
from apportion.environments.corpus_export import to_corpus
from apportion.environments.environment import Action, Observation
from apportion.foundation.errors import UnitError
from tests.environments.deduction.toy import Mole
from tests.environments.games import Countdown, take


def test_what_comes_too_late_is_silence_and_counted() -> None:
    waiting = threading.Event()

    def slow(view: Observation) -> Action:
        waiting.wait(60)
        return Action("vote", "", 0)

    agent = TimeLimitedAgent(ScriptedAgent("slow", slow, paid=True), 0.01)
    assert (agent.called, agent.paid, agent.agent.called) == ("slow", True, "slow")
    simulated = simulate([EpisodePlan("one", Mole, dict.fromkeys(Mole().agents, agent), 1)])
    waiting.set()
    (played,) = simulated.played
    assert {act.data[TIMED_OUT] for moves in played.environment.steps for _, act in moves} == {0.01}
    assert "an agent did not act in time: a silent act in its place in 7 cases" in to_corpus(simulated).notes
    assert played.closing["counted"]["nothing was done (day, vote): the default act took its place"] == 3


def test_in_time_it_acts_as_ever_and_raises_what_it_raises() -> None:
    def broken(view: Observation) -> Action:
        raise UnitError("no server")

    game = Mole()
    view = Observation(game, game.acting()[0])
    assert TimeLimitedAgent(ScriptedAgent("fast", lambda view: Action("peek", "", 1)), 60.0).act(view) == Action(
        "peek", "", 1
    )
    with pytest.raises(UnitError, match="no server"):
        TimeLimitedAgent(ScriptedAgent("broken", broken), 60.0).act(view)
    with pytest.raises(AttributeError):
        _ = TimeLimitedAgent(ScriptedAgent("fast", lambda view: take(1)), 60.0).settings
    countdown = Countdown(["ann", "bob"])
    # Where nobody may be silent there is nothing to put in its place, and it is waited for.
    assert TimeLimitedAgent(ScriptedAgent("fast", lambda view: take(1)), 1e-9).act(
        Observation(countdown, "ann")
    ) == take(1)
