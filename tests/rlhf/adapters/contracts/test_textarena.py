"""TextArena 0.7.4 plays our worlds, and we play its games."""

import random

import pytest

pytest.importorskip("textarena", reason="needs the trainers' environment: `make test-trainers`")

import textarena as ta
from textarena.envs.registration import ENV_REGISTRY

from apportion.environments.actions import MOST_UNUSABLE, unusable_of
from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Action, Observation
from apportion.environments.wrappers.seated_episode import SeatedEpisode
from apportion.environments.wrappers.textarena import TextArenaGame, WorldGame
from apportion.foundation.errors import InputError
from tests.environments.wrappers.conformance import TESTS, every_world, reaches_every_kind

pytestmark = pytest.mark.trainers
KUHN = ScriptedAgent("kuhn", lambda view: Action("act", view.draws.choice(["[check]", "[bet]", "[fold]", "[call]"])))
TALK = ScriptedAgent("nim", lambda view: Action("act", "hello"))


@every_world
@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_it_conforms(test, world):
    test("textarena", world)


@every_world
def test_random_play_reaches_every_kind_of_act(world):
    reaches_every_kind("textarena", world, 10, 400)


def test_a_registered_world_is_made_wrapped_and_played():
    place = "apportion.environments.wrappers.textarena:WorldGame"
    ta.register("ours-test", place, [ta.wrappers.LLMObservationWrapper], world="bargaining", others=("fair",))
    try:
        env = ta.make("ours-test")
    finally:
        del ENV_REGISTRY["ours-test"]
    outer = random.getstate()
    env.reset(num_players=1, seed=4)
    seen, done, turns = [], False, 0
    while not done:
        player, text = env.get_observation()
        seen.append(text)
        done, _ = env.step("I offer 20." if turns else "What a lovely day.")
        turns += 1
    rewards, told = env.close()
    assert random.getstate() == outer
    assert seen[0].startswith("\n[GAME] You ") and '"act"' in seen[0] and all(player == 0 for _ in seen)
    assert seen[1].startswith(seen[0]) and "Not allowed" in seen[1]
    assert list(rewards) == [0] and told[0]["turn_count"] == turns == len(told[0]["credit"])
    with pytest.raises(InputError, match="seat 2: there are 2"):
        env.reset(num_players=3)


def test_one_stand_in_that_is_tolerated_is_no_invalid_move_and_many_are():
    for garbage in (3, 10**6):
        env = WorldGame("sotopia", task=0)
        env.reset(num_players=1, seed=4)
        done, turns = False, 0
        while not done:
            done, _ = env.step('{"act": "fly"}' if turns < garbage else "Hello.")
            turns += 1
        told = env.state.game_info[0]
        stand, acts = unusable_of(env._episode.game.steps)[env._episode.own[0]]
        assert stand >= 1 and told["invalid_move"] == (stand > MOST_UNUSABLE * acts) == (garbage > 3)


def finished(game, seed, agent=KUHN):
    game.reset(seed)
    play(game, dict.fromkeys(game.agents, agent))
    return game


def test_their_game_replays_by_its_seed_is_copied_and_keeps_secrets():
    game = TextArenaGame("KuhnPoker-v0-raw")
    outer = random.getstate()
    one, again = finished(game.clone(), 3), finished(game.clone(), 3)
    assert one.steps == again.steps and one.observe("Player 1") == again.observe("Player 1")
    assert random.getstate() == outer
    assert len({finished(game.clone(), seed).observe("Player 0") for seed in range(9)}) > 1
    half = game.clone()
    half.reset(3)
    half.replay(3, one.steps[:1])
    copied = half.clone()
    play(copied, dict.fromkeys(game.agents, KUHN))
    assert copied.steps == one.steps and len(half.steps) == 1
    assert half.observe("Player 0") != copied.observe("Player 0")
    texts = {}
    for seed in range(40):  # The same own card and acts: what another was dealt is in no byte of it.
        game.reset(seed)
        cards = game._game.state.game_state["player_cards"]
        texts.setdefault(cards[0], set()).add((cards[1], Observation(game, "Player 0").cue))
    assert all(len({dealt for dealt, _ in pairs}) == 2 for pairs in texts.values()) and len(texts) == 3
    assert all(len({text for _, text in pairs}) == 1 for pairs in texts.values())
    assert game.utterances(one.steps) == [] and Observation(one, "Player 0").heard == ()


def test_who_loses_their_game_by_an_invalid_move_has_the_least_and_nobody_has_won():
    game = finished(TextArenaGame("Nim-v0-raw"), 1, TALK)
    values = game.outcome()
    assert sorted(values.values(), key=str) == [{"reward": -1.0}, {"reward": None}] and game.over
    episode = SeatedEpisode([TextArenaGame("Nim-v0-raw")], (ScriptedAgent("one", _take_one),), "reward")
    for seed in range(4):
        episode.begin(seats=(seed % 2,), seed=seed)
        own = episode.own[0]
        assert episode.reward(own) == -1.0
        while episode.asked is not None:
            episode.act({"kind": "fly", "text": "[0 1]"})
        assert episode.reward(own) == -1.0
    assert set(finished(TextArenaGame("Nim-v0-raw"), 1, ScriptedAgent("one", _take_one)).outcome()) == {*game.agents}
    with pytest.raises(InputError, match="textarena: Environment Nym not found"):
        TextArenaGame("Nym")


def _take_one(view):
    piles = [line.split(": ") for line in view.text.splitlines()[-3:]]
    pile = next(name.strip().split()[-1] for name, left in piles if int(left))
    return Action("act", f"[{pile} 1]")
