"""Environments of ours hold PettingZoo's own tests; run where the extra `pettingzoo` is installed."""

import warnings
from collections.abc import Callable
from random import Random

import pytest

pytest.importorskip("pettingzoo", reason="the extra pettingzoo is not installed")

from pettingzoo.test import api_test, seed_test

from apportion.environments.actions import Action
from apportion.environments.collect_episodes import play
from apportion.environments.deduction.avalon.game import Avalon
from apportion.environments.deduction.onuw.game import OneNight
from apportion.environments.deduction.werewolf.game import Werewolf
from apportion.environments.deduction.werewolf.rules import Options
from apportion.environments.environment import Environment, Observation
from apportion.environments.negotiation.bargaining.game import Bargaining
from apportion.environments.negotiation.bargaining.scenario import draw_bargain
from apportion.environments.negotiation.casino.contexts import drawn
from apportion.environments.negotiation.casino.game import Casino
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.scripted_agents import Conceding
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.wrappers.aec import AEC, ActionSpace, Words
from apportion.foundation.errors import InputError
from tests.environments.games import Countdown, Matching


def social() -> AEC:
    return AEC(Sotopia(bundled_tasks.tasks()[0]), "GOAL")


def countdown() -> AEC:
    return AEC(Countdown(("ann", "bob", "cleo")), "points")


def matching() -> AEC:
    return AEC(Matching(("ann", "bob")), lambda values: values["same"])


WORLDS = {
    "sotopia": social,
    "negotiation": lambda: AEC(Negotiation(Context((1, 3, 1), ((3, 1, 4), (3, 2, 1)))), "points"),
    "casino": lambda: AEC(Casino(drawn(1, 0)[0]), "points"),
    "bargaining": lambda: AEC(Bargaining(draw_bargain(Random(0))), "points"),
    "werewolf": lambda: AEC(Werewolf(Options(most_days=2)), "win"),
    "avalon": lambda: AEC(Avalon(), "win"),
    "onuw": lambda: AEC(OneNight(), "win"),
}
SMALL = {"countdown": countdown, "matching": matching}


@pytest.mark.parametrize("make", (WORLDS | SMALL).values(), ids=WORLDS | SMALL)
def test_pettingzoo_s_own_tests_pass(make: Callable[[], AEC]) -> None:
    """What they only warn of: texts are no arrays, and names are those of characters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(make(), num_cycles=300)
        seed_test(make, num_cycles=200)


def test_a_night_is_no_time_to_speak_and_a_day_no_time_to_kill() -> None:
    env = WORLDS["werewolf"]()
    env.reset(seed=0)
    masks = {}
    while not env.terminations[env.agent_selection]:
        stage = env.environment.facts(env.agent_selection).stage.phase
        mask = env.observe(env.agent_selection)["action_mask"]
        masks.setdefault(stage, set()).add(
            tuple(kind for kind, on in zip(env.environment.kinds, mask, strict=True) if on)
        )
        env.step(env.action_space(env.agent_selection).sample(mask))
    assert masks["day"] == {("speak", "none"), ("vote", "none")}
    assert ("speak", "none") not in masks["night"] and ("kill", "none") in masks["night"]


def test_an_episode_by_cycles_is_the_episode_that_agents_play() -> None:
    env = social()
    env.reset(seed=3)
    agents = {name: Conceding() for name in env.possible_agents}
    for agent in env.agent_iter():
        observation, reward, over, _, info = env.last()
        assert observation["observation"] == env.environment.observe(agent)
        assert env.observation_space(agent).contains(observation)
        env.step(None if over else agents[agent].act(Observation(env.environment, agent)))
        if over:
            assert reward == info["outcome"]["GOAL"] > 0 and info["outcome"]["BEL"] is None
    again = Sotopia(bundled_tasks.tasks()[0])
    again.reset("3/0")
    play(again, agents)
    assert again.steps == env.environment.steps and env.agents == []
    assert env.render().count("\n") == len(again.steps) - 1


def test_who_acts_at_once_does_not_see_what_another_one_does() -> None:
    env = matching()
    env.reset(seed=0)
    assert env.agent_selection == "ann"
    before = env.observe("bob")["observation"]
    env.step({"kind": "show", "text": "a"})
    assert env.agent_selection == "bob" and env.observe("bob")["observation"] == before
    assert env.environment.steps == []
    env.step(Action("show", "a"))
    assert len(env.environment.steps) == 1 and env.agent_selection == "ann"


def test_the_mask_is_what_is_legal() -> None:
    env = social()
    env.reset(seed=0)
    first, second = env.possible_agents
    assert env.observe(first)["action_mask"].tolist() == [1] * 5
    assert env.observe(second)["action_mask"].tolist() == [0] * 5


def test_resets_without_a_seed_differ_and_come_again() -> None:
    def piles() -> list[int]:
        env = countdown()
        env.reset(seed=5)
        found = [env.environment.pile]
        for _ in range(6):
            env.reset()
            found.append(env.environment.pile)
        return found

    assert piles() == piles() and len(set(piles())) > 1


def test_what_is_no_act_and_what_rules_do_not_allow_is_told_and_changes_nothing() -> None:
    env = social()
    env.reset(seed=0)
    for wrong in ("hello", None, {"kind": "speak"}, {"kind": "speak", "text": "x", "more": 1}):
        with pytest.raises(InputError, match="an action is"):
            env.step(wrong)
    env.step({"kind": "speak", "text": " "})
    assert "without words" in env.infos[env.agent_selection]["problem"]
    assert env.environment.steps == [] and env.agent_selection == env.possible_agents[0]
    env.step({"kind": "speak", "text": "Hi!", "data": {"a": 1}})
    assert env.environment.steps[0][0].act == Action("speak", "Hi!", {"a": 1})
    with pytest.raises(InputError, match="no dimension 'FAME' to reward; there are GOAL"):
        AEC(Sotopia(bundled_tasks.tasks()[0]), "FAME")


TAKES = {"take": ("1", "2", "3")}


def test_the_spaces_hold_what_they_draw_and_refuse_the_rest() -> None:
    acts, words = ActionSpace(("take", "pass"), TAKES, seed=1), Words(seed=1)
    for _ in range(50):
        drawn = acts.sample()
        assert drawn in acts and (drawn["kind"] == "pass" or drawn["text"] in TAKES["take"])
        assert words.sample() in words
    assert {acts.sample([0, 1])["kind"] for _ in range(9)} == {"pass"}
    assert "日本語 \n|" in words and 3 not in words
    for wrong in ({"kind": "fly", "text": ""}, {"kind": "pass"}, {"kind": "pass", "text": 1}, "pass", ["pass", ""]):
        assert wrong not in acts
    assert (
        acts == ActionSpace(("take", "pass"), TAKES) != ActionSpace(("take",))
        and repr(acts) == "Acts(['take', 'pass'])"
    )
    assert not acts.is_np_flattenable


def test_an_unknown_reward_is_0_and_said_so() -> None:
    class Silent(Matching):
        def outcome(self) -> dict[str, dict[str, float | None]]:
            return {agent: {"same": None} for agent in self.agents}

    env = AEC(Silent(("ann", "bob")), lambda values: values["same"])
    env.reset(seed=0)
    assert isinstance(env.environment, Environment)
    for _ in range(6):
        env.step({"kind": "show", "text": "a"})
    assert env.last()[1] == 0.0 and env.infos["ann"] == {"outcome": {"same": None}}
