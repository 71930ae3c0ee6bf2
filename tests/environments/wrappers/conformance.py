"""What every door on every world holds: the same acts, seeds, secrets and penalties. Parametrised where it is run."""

from collections import Counter

import pytest

from apportion.environments.actions import MOST_UNUSABLE, unusable_of
from apportion.environments.agents.language_model import ATTEMPTS
from apportion.environments.deduction.avalon.game import Avalon
from apportion.environments.deduction.avalon.rules import Options as AvalonOptions
from apportion.environments.deduction.werewolf.cast import cast
from apportion.environments.deduction.werewolf.game import Werewolf
from apportion.environments.deduction.werewolf.rules import Options
from apportion.environments.environment import Observation
from apportion.environments.worlds import WORLDS
from apportion.environments.wrappers.world_tasks import world_tasks
from tests.environments.deduction.avalon.plays import CASTS
from tests.environments.wrappers.doors import BLIND, REWARDS, opened, play, twins

LARGER = {
    "avalon of seven": [Avalon(AvalonOptions(CASTS[-1], proposals=1))],
    "werewolf of eight": [Werewolf(Options((*cast(7), "hunter")))],
}
"""Casts of more players, told by the same doors."""
EVERY = [world.name for world in WORLDS]


def reaches_every_kind(name: str, world: str, least: int, most: int) -> Counter[str]:
    """Random play does each kind of act in some seat, ends, and is never refused; says how often."""
    done: Counter[str] = Counter()
    tasks = LARGER.get(world) or world_tasks(world).environments
    door = opened(name, world, tasks=tasks)
    for seed in range(most):
        if seed >= least and set(done) >= set(tasks[0].kinds):
            break
        played = play(door, seed, task=seed % len(tasks), seat=seed // 3 % len(tasks[0].agents))
        assert played.paid == played.reward is not None
        assert not any(move.act.stands for step in played.steps for move in step)
        done += played.done
        done["episodes"] += 1
    assert set(done) - {"episodes"} == set(tasks[0].kinds)
    return done


def replays(name: str, world: str) -> None:
    first, second = (play(opened(name, world), 3) for _ in range(2))
    assert first == second
    assert any(play(opened(name, world), seed) != first for seed in range(4, 12))


def keeps_secrets(name: str, world: str) -> None:
    """What another seat alone knows changes no byte of what the first is told, whatever it does, until the end."""
    for seed in range(6):
        one, other = (play(opened(name, world, BLIND, [twin]), seed, rubbish=0.2, most=4) for twin in twins(world))
        assert one.told == other.told
    one, other = twins(world)
    hidden = [
        [(Observation(game, agent).text, Observation(game, agent).known) for agent in game.agents[1:]]
        for game in (one, other)
    ]
    assert hidden[0] != hidden[1]


def punishes(name: str, world: str) -> None:
    """Each third attempt is one unusable act; more of them than the policy's share are worth the least, never a win."""
    game = twins(world)[0]
    own, least = game.agents[0], game.scales()[REWARDS.get(world, "win")][0]
    door, garbage = opened(name, world), 0
    for seed, rubbish in [(seed, share) for seed in range(4) for share in (1.0, 0.6, 0.2)]:
        played = play(door, seed, rubbish)
        stand, acts = unusable_of(played.steps).get(own, (0, 0))
        assert (played.done["fly"] == ATTEMPTS * acts == ATTEMPTS * stand) or rubbish < 1
        assert stand <= played.done["fly"] / ATTEMPTS and played.paid == played.reward
        assert all("fly" in told for told, act in zip(played.told[1:], played.acts, strict=False) if act == "fly")
        if stand > MOST_UNUSABLE * acts:
            garbage += 1
            assert played.paid == least
    assert garbage > 1


TESTS = {test.__name__: test for test in (replays, keeps_secrets, punishes)}
every_world = pytest.mark.parametrize("world", EVERY)
