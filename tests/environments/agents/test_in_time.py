"""An agent that has to act in time."""

from __future__ import annotations

import threading

import pytest

from apportion.environments.agents.agent import Scripted
from apportion.environments.agents.in_time import TIMED_OUT, InTime
from apportion.environments.core import Act, View
from apportion.environments.simulate import EpisodePlan, simulate
from apportion.environments.to_corpus import to_corpus
from apportion.foundation.errors import UnitError
from tests.environments.deduction.toy import Mole
from tests.environments.games import Countdown, take


def test_what_comes_too_late_is_silence_and_counted() -> None:
    waiting = threading.Event()

    def slow(view: View) -> Act:
        waiting.wait(60)
        return Act("vote", "", 0)

    agent = InTime(Scripted("slow", slow, paid=True), 0.01)
    assert (agent.called, agent.paid, agent.agent.called) == ("slow", True, "slow")
    simulated = simulate([EpisodePlan("one", Mole, dict.fromkeys(Mole().agents, agent), 1)])
    waiting.set()
    (played,) = simulated.played
    assert {act.data[TIMED_OUT] for moves in played.environment.steps for _, act in moves} == {0.01}
    assert "an agent did not act in time: a silent act in its place in 7 cases" in to_corpus(simulated).notes
    assert played.closing["counted"]["nothing was done (day, vote): the default act took its place"] == 3


def test_in_time_it_acts_as_ever_and_raises_what_it_raises() -> None:
    def broken(view: View) -> Act:
        raise UnitError("no server")

    game = Mole()
    view = View(game, game.acting()[0])
    assert InTime(Scripted("fast", lambda view: Act("peek", "", 1)), 60.0).act(view) == Act("peek", "", 1)
    with pytest.raises(UnitError, match="no server"):
        InTime(Scripted("broken", broken), 60.0).act(view)
    with pytest.raises(AttributeError):
        _ = InTime(Scripted("fast", lambda view: take(1)), 60.0).settings
    countdown = Countdown(["ann", "bob"])
    # Where nobody may be silent there is nothing to put in its place, and it is waited for.
    assert InTime(Scripted("fast", lambda view: take(1)), 1e-9).act(View(countdown, "ann")) == take(1)
