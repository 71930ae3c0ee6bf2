"""One seat of any environment as Gymnasium's; run where the extra `pettingzoo` is installed."""

import warnings

import pytest

pytest.importorskip("gymnasium", reason="the extra pettingzoo is not installed")

from gymnasium.utils.env_checker import check_env

from apportion.environments.wrappers.seated_episode import SeatedEpisode
from apportion.environments.wrappers.single_player import SinglePlayer
from apportion.environments.wrappers.world_tasks import world_tasks
from apportion.foundation.errors import InputError
from tests.environments.games import Countdown, Matching
from tests.environments.wrappers.conformance import every_world
from tests.environments.wrappers.doors import DRAWN


@every_world
def test_gymnasium_s_own_test_passes(world):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*environment not having a spec.*")
        check_env(SinglePlayer(world_tasks(world).seated()))


def test_tasks_and_seats_are_drawn_by_the_seed_or_chosen():
    env = SinglePlayer(world_tasks("negotiation").seated(("fair",)))
    begun = []
    for seed in (*range(9), *range(9)):
        env.reset(seed=seed)
        begun.append((env.episode.own, env.episode.game.context, env.episode.game.seed))
    assert begun[:9] == begun[9:] and len({own for own, *_ in begun}) == 2 and len(set(begun)) > 6
    env.reset(options={"task": 3, "seat": 1})
    assert env.episode.own == ("Bob",) and env.episode.game.context == env.episode.environments[3].context
    with pytest.raises(InputError, match="task 100: there are 100"):
        env.reset(options={"task": 100})
    with pytest.raises(InputError, match="seat 2: there are 2"):
        env.reset(options={"task": 0, "seat": 2})


def test_the_reward_comes_at_the_end_with_what_each_act_gained():
    env = SinglePlayer(SeatedEpisode(world_tasks("negotiation").environments, (DRAWN,), "points"))
    for seed in range(20):
        observation, _ = env.reset(seed=seed)
        over, paid, acts = False, [], 0
        while not over:
            observation, reward, over, _, info = env.step(env.action_space.sample(observation["action_mask"]))
            paid, acts = [*paid, reward], acts + 1
        assert set(paid[:-1]) <= {0.0} and paid[-1] == info["outcome"]["points"] == pytest.approx(sum(info["credit"]))
        assert len(info["credit"]) == acts and not observation["action_mask"].any()


def test_what_is_no_action_and_what_has_other_kinds_is_told():
    with pytest.raises(InputError, match="matching has other kinds of acts than countdown"):
        games = [Countdown(("ann", "bob")), Matching(("ann", "bob"))]
        SinglePlayer(SeatedEpisode(games, (DRAWN,), lambda outcome: 0.0))
    env = SinglePlayer(world_tasks("onuw").seated())
    env.reset(seed=1)
    with pytest.raises(InputError, match="an action is"):
        env.step("hello")
