"""Scripted agents."""

import threading
from pathlib import Path

import pytest

from apportion.environments.actions import TIMED_OUT
from apportion.environments.agents.agent import RandomLegalAgent, ReplayAgent, ScriptedAgent, TimeLimitedAgent
from apportion.environments.agents.wrappers import WrappedAgent, unwrapped
from apportion.environments.collect_episodes import EpisodePlan, simulate
from apportion.environments.corpus_export import to_corpus
from apportion.environments.environment import Action, Observation
from apportion.environments.episode_log import read_log
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.scripted_agents import Conceding
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.foundation.errors import InputError, UnitError
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
    assert "an agent did not act in time: another act in its place in 7 cases" in to_corpus(simulated).notes
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


TASK = bundled_tasks.tasks()[0]


def logged(path: Path, *names: str) -> Path:
    agents = {one.name: Conceding() for one in TASK.characters}
    simulate([EpisodePlan(name, lambda: Sotopia(TASK), agents, name) for name in names], path)
    return path


def test_one_seat_of_an_episode_is_played_again(tmp_path: Path) -> None:
    log = logged(tmp_path / "log.jsonl", "one", "two")
    steps = read_log(log)["two"].steps
    again = ReplayAgent.of(f"{log}#two")
    partners = {TASK.characters[0].name: again, TASK.characters[1].name: RandomLegalAgent()}
    (played,) = simulate([EpisodePlan("x", lambda: Sotopia(TASK), partners)]).played
    own = [move.act for (move,) in played.environment.steps[::2]]
    recorded = [move.act for (move,) in steps[::2]]
    assert again.called == "recorded@two" and not again.paid
    assert own[: len(recorded)] == recorded[: len(own)]


def test_after_its_end_it_is_silent_and_out_of_its_place_it_fails(tmp_path: Path) -> None:
    game = Sotopia(TASK)
    game.do(Action("speak", "Hm."))
    first, second = game.agents
    assert ReplayAgent("r", ()).act(Observation(game, second)) == Action("none")
    with pytest.raises(UnitError, match=f"recorded@one: '{first}' did nothing at step 1 there; play the same task"):
        ReplayAgent.of(f"{logged(tmp_path / 'log.jsonl', 'one')}").act(Observation(game, first))
    with pytest.raises(UnitError, match="ended after 0 steps, and 'ann' may not be silent"):
        ReplayAgent("r", ()).act(Observation(Countdown(["ann", "bob"]), "ann"))


def test_a_log_or_an_episode_that_is_not_there_is_named(tmp_path: Path) -> None:
    log = logged(tmp_path / "log.jsonl", "one", "two")
    for place, message in (
        (f"{tmp_path}/no.jsonl", "is no file; name an episode log"),
        (str(log), "no episode '': name one as .*: it has 2 episodes, one, two"),
        (f"{log}#onne", "no episode 'onne': did you mean 'one'"),
    ):
        with pytest.raises(InputError, match=message):
            ReplayAgent.of(place)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("react", None),
        ("base@model+8b", None),
        ("base@refiner", None),
        ("react+refiner", WrappedAgent("react", "refiner", "")),
        ("react@m+refiner@runs/a+b", WrappedAgent("react@m", "refiner", "runs/a+b")),
        ("react+refiner@a+refiner", WrappedAgent("react+refiner@a", "refiner", "")),
    ],
)
def test_the_parts_of_a_name(name, parts):
    assert unwrapped(name) == parts
    if parts is not None:
        assert parts.inner + parts.suffix == name


@pytest.mark.parametrize("name", ["+refiner", "+refiner@x"])
def test_nobody_to_refine_is_told(name):
    with pytest.raises(InputError, match=r"nobody before the \+"):
        unwrapped(name)


def test_nothing_behind_the_at_is_told():
    with pytest.raises(InputError, match="nothing behind the @; write react"):
        unwrapped("react+refiner@")
