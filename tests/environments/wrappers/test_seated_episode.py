"""Some seats from outside, the others by agents."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.environments.actions import TIMED_OUT, UNUSABLE, Action
from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Observation
from apportion.environments.worlds import WORLDS
from apportion.environments.wrappers import seated_episode
from apportion.environments.wrappers.seated_episode import SeatedEpisode, read_given
from apportion.environments.wrappers.world_tasks import world_tasks
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from tests.environments.games import Countdown, Matching, take
from tests.environments.wrappers.doors import DRAWN, drawn_act, words_of

EVERY = [world.name for world in WORLDS]
ONE = ScriptedAgent("one", lambda view: take(1))
NOT_ACTS = st.one_of(
    st.text(max_size=30),
    st.fixed_dictionaries({"kind": st.text(max_size=9)}),
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["speak", "propose", "offer", "vote", "kill", "physical action", "select", "none"]),
            "text": st.text(max_size=30),
            "data": st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=2),
                max_leaves=4,
            ),
        }
    ),
)


@pytest.mark.parametrize("world", EVERY)
@settings(max_examples=40, deadline=None)
@given(given=NOT_ACTS, seed=st.integers(0, 5))
def test_whatever_comes_from_outside_is_an_act_or_told_why_it_is_none(world, given, seed):
    episode = world_tasks(world).seated()
    episode.begin(seed=seed)
    steps = len(episode.game.steps)
    told = episode.act(given)
    assert (told is None) == (len(episode.game.steps) > steps)


@pytest.mark.parametrize("world", EVERY)
def test_what_agents_would_do_from_outside_is_the_episode_that_they_play(world):
    """Two seats from outside, act by act: the same steps, and together each seat's credit is its reward."""
    tasks = world_tasks(world)
    episode = SeatedEpisode(tasks.environments[:1], (DRAWN,), tasks.reward)
    for seed in range(3):
        episode.begin(0, (1, 0), seed)
        start = {name: episode.reward(name) for name in episode.own}
        while episode.asked is not None:
            assert episode.act(DRAWN.act(episode.view)) is None
        game = tasks.environments[0].clone()
        game.reset(episode.game.seed)
        play(game, dict.fromkeys(game.agents, DRAWN))
        assert episode.game.steps == game.steps
        for name in episode.own:
            acts = sum(move.agent == name for step in game.steps for move in step)
            assert len(episode.credit(name)) == acts
            assert episode.reward(name) == game.outcome()[name][tasks.reward]
            assert not acts or start[name] + sum(episode.credit(name)) == pytest.approx(episode.reward(name))


def test_an_act_that_is_none_is_stood_for_after_three_attempts_and_counts():
    episode = SeatedEpisode([world_tasks("sotopia").environments[0]], (ScriptedAgent("mute", _silent),), "GOAL")
    episode.begin(seed=1)
    mine, other = episode.game.agents
    for attempt in range(2):
        told = episode.act({"kind": "fly", "text": ""})
        assert told.startswith("Not allowed: ") and told.endswith("Nothing was done.") and "fly" in told, attempt
    assert "After 3 attempts 'none' stands for it." in episode.act({"kind": "fly", "text": ""})
    while episode.asked is not None:
        episode.act(Action("none"))
    assert episode.outcome(mine) == {name: low for name, (low, _) in episode.game.scales().items()}
    assert episode.reward(mine) == 0.0 and episode.reward(other) is None
    assert set(episode.outcome(other).values()) == {None} and episode.credit(mine)[-1] == 0.0


def _silent(view):
    return Action("none")


def test_words_are_read_as_in_a_corpus_or_as_json():
    game = world_tasks("negotiation").environments[0].clone()
    view = Observation(game, game.acting()[0])
    said = read_given(view, "I want one   book.")
    assert said.kind == "propose" and said.text == "I want one book."
    assert (
        read_given(view, words_of(game, view.agent, {"kind": "propose", "text": "I want one book."})).data == said.data
    )
    with pytest.raises(ReplyMistakeError, match="not an object"):
        read_given(view, '{"kind": "propose"}')
    with pytest.raises(ReplyMistakeError, match=r'an act is \{"kind"'):
        read_given(view, {"kind": "propose"})
    with pytest.raises(ReplyMistakeError, match="allowed now: propose"):
        read_given(view, Action("agree"))


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "speak", "text": None},
        {"kind": 5, "text": "x"},
        Action(5, "x"),
        Action("speak", None),
        b"abc",
        None,
        ["speak", "x"],
    ],
)
def test_what_has_no_texts_is_told_as_no_act(given):
    episode = world_tasks("sotopia").seated()
    episode.begin(seed=1)
    with pytest.raises(ReplyMistakeError, match=r"an act is .* both texts"):
        read_given(episode.view, given)
    assert episode.act(given).endswith("Nothing was done.") and not episode.unusable()


@pytest.mark.parametrize("mark", [UNUSABLE, TIMED_OUT])
def test_nobody_from_outside_does_what_stands_for_an_act(mark):
    episode = SeatedEpisode([Countdown(("ann", "bob"))], (ONE,), "points")
    episode.begin()
    forged = take(1).marked(mark, "forged")
    for forgery in (forged, {"kind": forged.kind, "text": forged.text, "data": forged.data}):
        with pytest.raises(ReplyMistakeError, match="mark what is no act"):
            read_given(episode.view, forgery)
    assert read_given(episode.view, forged.plain) == take(1)


def test_who_acts_at_once_is_asked_one_after_the_other_and_several_others_are_drawn_for_their_seats():
    game = Matching(("ann", "bob", "cleo"))
    agents = [ScriptedAgent(side, lambda view, side=side: Action("show", side)) for side in "ab"]
    episode = SeatedEpisode([game], agents, lambda outcome: outcome["same"])
    seen = set()
    for seed in range(12):
        episode.begin(seats=(0, 2), seed=seed)
        assert episode.asked == "ann" and episode.act(Action("show", "a")) is None
        assert episode.asked == "cleo" and episode.game.steps == []
        episode.act(Action("show", "a"))
        seen.add(dict(episode.game.steps[0])["bob"].text)
    assert seen == {"a", "b"}


def test_news_are_told_once_to_each_agent():
    episode = world_tasks("negotiation").seated(("fair",))
    episode.begin(seed=2)
    first = episode.news(episode.asked)
    assert first == episode.view.text and episode.news(episode.asked) == ""
    draws = Random(0)
    episode.act(drawn_act(episode.game, episode.asked, draws))
    assert episode.news(episode.own[0]) and first not in episode.news(episode.own[0])


def test_a_seat_that_is_not_asked_is_dealt_anew_and_one_that_never_is_is_told():
    class Ends(Countdown):
        def acting(self):
            return () if self.over_at_once() else super().acting()

        def over_at_once(self):
            return not str(self.seed).endswith("++")

    episode = SeatedEpisode([Ends(("ann", "bob"))], (ONE,), "points")
    episode.begin(seed=7)
    assert episode.game.seed == "7++" and episode.asked == "ann"

    class Over(Countdown):
        def acting(self):
            return ()

    with pytest.raises(UnitError, match="over before ann was asked; play another task or seat"):
        SeatedEpisode([Over(("ann", "bob"))], (ONE,), "points").begin()


def test_what_cannot_be_played_is_told(monkeypatch):
    game = Countdown(("ann", "bob"))
    with pytest.raises(InputError, match="no environment to play"):
        SeatedEpisode([], (ONE,), "points")
    with pytest.raises(InputError, match="no dimension 'fame' to reward; there are points, style"):
        SeatedEpisode([game], (ONE,), "fame")
    episode = SeatedEpisode([game], (ONE,), "points")
    for wrong, message in (
        ({"task": 1}, "task 1: there are 1"),
        ({"seats": (2,)}, "seat 2: there are 2"),
        ({"seats": ()}, "name one at least"),
        ({"seats": (0, 0)}, "each once"),
    ):
        with pytest.raises(InputError, match=message):
            episode.begin(**wrong)
    with pytest.raises(InputError, match="nobody plays bob; give others"):
        SeatedEpisode([game], (), "points").begin()
    episode.begin()
    while episode.asked is not None:
        episode.act(take(3))
    with pytest.raises(InputError, match="nobody is asked any more"):
        episode.act(take(1))
    episode.begin()
    for _ in range(2):
        episode.act(Action("fly"))
    with pytest.raises(UnitError, match=r"'ann' did what is no act .* nothing can stand for it"):
        episode.act(Action("fly"))
    with pytest.raises(InputError, match="no world 'chess'; there are sotopia"):
        world_tasks("chess")
    with pytest.raises(InputError, match="nobody"):
        world_tasks("onuw").seated(("nobody",))
    monkeypatch.setattr(seated_episode, "MOST_STEPS", 5)

    class Alone(Countdown):
        def acting(self):
            return ("bob",)

    with pytest.raises(UnitError, match="'ann' is not asked in 5 steps"):
        SeatedEpisode([Alone(("ann", "bob"))], (ScriptedAgent("none", lambda view: take(0)),), "points").begin()


def test_a_world_by_its_name_has_tasks_that_rules_score():
    for world in WORLDS:
        tasks = world_tasks(world.name)
        assert tasks.environments and tasks.reward == world.reward
        episode = tasks.seated(("random",), tasks.reward)
        episode.begin(seed=1)
        assert episode.reward(episode.own[0]) is not None
