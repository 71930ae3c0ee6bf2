"""What was done once, again."""

from pathlib import Path

import pytest

from apportion.environments.agents.agent import RandomLegalAgent, ReplayAgent
from apportion.environments.collect_episodes import EpisodePlan, simulate
from apportion.environments.environment import Action, Observation
from apportion.environments.episode_log import read_log
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.scripted_agents import Conceding
from apportion.environments.sotopia.simulation import SimulationChoice, seated, simulate_sotopia
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.foundation.errors import InputError, UnitError
from tests.environments.games import Countdown, Matching

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


def test_of_acts_at_once_each_has_its_own(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    sides = {name: RandomLegalAgent() for name in ("ann", "bob")}
    simulate([EpisodePlan("one", lambda: Matching(["ann", "bob"]), sides)], log)
    (one,) = read_log(log).values()
    game = Matching(["ann", "bob"])
    assert ReplayAgent.of(str(log)).act(Observation(game, "bob")) == one.steps[0][1].act


def test_a_log_or_an_episode_that_is_not_there_is_named(tmp_path: Path) -> None:
    log = logged(tmp_path / "log.jsonl", "one", "two")
    for place, message in (
        (f"{tmp_path}/no.jsonl", "is no file; name an episode log"),
        (str(log), "no episode '': name one as .*: it has 2 episodes, one, two"),
        (f"{log}#onne", "no episode 'onne': did you mean 'one'"),
    ):
        with pytest.raises(InputError, match=message):
            ReplayAgent.of(place)


def test_a_simulation_plays_against_what_was_played(tmp_path: Path) -> None:
    choice = SimulationChoice(("conceding",), ("used_bicycle",), pairs=1)
    simulate_sotopia(choice, tmp_path / "one")
    log = tmp_path / "one" / "episodes.jsonl"
    (name,) = read_log(log)
    again = SimulationChoice((f"recorded@{log}",), ("used_bicycle",), pairs=1)
    simulate_sotopia(again, tmp_path / "two")
    ((episode, *_),) = seated(again)
    assert episode == f"used_bicycle-0-recorded@{name}-recorded@{name}-0"
    assert read_log(tmp_path / "two" / "episodes.jsonl")[episode].steps == read_log(log)[name].steps
