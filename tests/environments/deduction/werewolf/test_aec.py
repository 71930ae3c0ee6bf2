"""Werewolf as PettingZoo has it: talk and default acts pass its own tests, and any agent's acts can be stepped."""

from __future__ import annotations

import warnings

from pettingzoo.test import api_test, seed_test

from apportion.environments.deduction.events import SPEAK
from apportion.environments.deduction.scripts import Random
from apportion.environments.deduction.werewolf.game import Werewolf
from apportion.environments.deduction.werewolf.rules import KINDS, Options
from apportion.environments.environment import Observation
from apportion.environments.wrappers.aec import AEC


def talking() -> AEC:
    """A game in which whoever does not speak does nothing."""
    return AEC(Werewolf(Options(most_days=2)), reward="win", kinds=(SPEAK, "none"), texts={SPEAK: ["Hello."]})


def test_it_passes_pettingzoo_s_own_tests() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(talking(), num_cycles=200)
        seed_test(talking)


def test_random_players_play_a_game_to_its_end() -> None:
    game = AEC(Werewolf(), reward="win", kinds=(SPEAK, *KINDS, "none"))
    game.reset(seed=3)
    earned = dict.fromkeys(game.possible_agents, 0.0)
    for agent in game.agent_iter():
        _, reward, over, _, _ = game.last()
        earned[agent] += reward
        game.step(None if over else Random().act(Observation(game.environment, agent)))
    assert game.environment.over
    assert earned == {agent: values["win"] for agent, values in game.environment.outcome().items()}
