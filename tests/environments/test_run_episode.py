"""One episode to its end."""

import pytest

from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Action, Step
from apportion.foundation.errors import InputError, UnitError
from tests.environments.games import Countdown, take


def test_moves_are_told_before_they_are_done() -> None:
    game = Countdown(["ann", "bob"])
    told: list[tuple[int, Step]] = []
    one = ScriptedAgent("one", lambda view: take(1))
    steps = play(game, {"ann": one, "bob": one}, before=lambda moves: told.append((len(game.steps), moves)))
    assert steps == len(game.steps) and [number for number, _ in told] == list(range(steps))
    assert [moves for _, moves in told] == game.steps


def test_somebody_acts_for_everybody() -> None:
    with pytest.raises(InputError, match="nobody acts for 'bob'"):
        play(Countdown(["ann", "bob"]), {"ann": ScriptedAgent("one", lambda view: take(1))})


def test_an_episode_that_never_ends_is_a_fault() -> None:
    idle = ScriptedAgent("idle", lambda view: Action("pass"))
    with pytest.raises(UnitError, match="not over after 50 steps"):
        play(Countdown(["ann", "bob"]), {"ann": idle, "bob": idle}, most_steps=50)


def test_an_act_that_is_not_allowed_is_not_told() -> None:
    wrong = ScriptedAgent("wrong", lambda view: Action("fly"))
    told: list[Step] = []
    with pytest.raises(UnitError, match="may not 'fly'"):
        play(Countdown(["ann", "bob"]), {"ann": wrong, "bob": wrong}, before=told.append)
    assert told == []
