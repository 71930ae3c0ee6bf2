"""What every environment shares."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.environment import Action, AgentAction, InvalidActionError, Observation, in_order
from apportion.environments.rng import EpisodeRNG
from apportion.foundation.errors import InputError
from tests.environments.games import Countdown, Matching, take


@given(st.integers(0, 50), st.lists(st.integers(1, 3), max_size=8), st.lists(st.integers(1, 3), max_size=8))
def test_a_clone_plays_on_by_itself(seed: int, before: list[int], after: list[int]) -> None:
    game = Countdown(["ann", "bob"])
    game.reset(seed)
    for number in before:
        if not game.over:
            game.do(take(number))
    pile, steps, draw = game.pile, list(game.steps), game.clone().chance.draws.random()
    clone = game.clone()
    for number in after:
        if not clone.over:
            clone.do(take(number))
    clone.chance.draws.random()
    assert (game.pile, game.steps) == (pile, steps)
    assert game.chance.draws.random() == draw
    again = Countdown(["ann", "bob"])
    again.replay(seed, clone.steps)
    assert again.outcome() == clone.outcome()


def test_agents_may_act_at_once() -> None:
    game = Matching(["ann", "bob"])
    game.step({"bob": Action("show", "heads"), "ann": Action("show", "heads")})
    assert [move.agent for move in game.steps[0]] == ["ann", "bob"]
    assert game.outcome()["ann"] == {"same": 1.0}
    assert game.said(game.steps[0][0]) == "heads" and game.facts("ann") is None


def test_an_act_that_is_not_allowed_does_nothing() -> None:
    game = Countdown(["ann", "bob"])
    with pytest.raises(InvalidActionError, match=r"step 0: 'ann' may not 'taek'; did you mean 'take'\?"):
        game.do(Action("taek", "1"))
    with pytest.raises(InvalidActionError, match="'bob' acts out of turn"):
        game.step({"bob": take(1)})
    assert game.steps == []


def test_a_view_is_made_when_it_is_read_and_draws_the_same_every_time() -> None:
    game = Countdown(["ann", "bob"])
    view = Observation(game, "ann")
    assert view.text == f"{game.pile} are left" and view.legal == ("take", "pass") and view.step == 0
    assert (
        view.draws.random()
        == Observation(game.clone(), "ann").draws.random()
        != Observation(game, "bob").draws.random()
    )


@pytest.mark.parametrize(
    ("names", "message"),
    [(["ann"], "1 agents"), (["ann", " "], "without a name"), (["ann", "ann"], "two agents are called 'ann'")],
)
def test_agents_have_names_of_their_own(names: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Countdown(names)


def test_a_log_that_these_rules_do_not_allow_is_refused() -> None:
    game = Countdown(["ann", "bob"])
    game.do(take(1))
    with pytest.raises(InvalidActionError):
        Matching(["ann", "bob"]).replay(0, game.steps)


def test_a_view_tells_what_its_agent_knew_and_heard_and_what_words_would_do():
    game = Countdown(["ann", "bob"])
    game.step({"ann": take(2)})
    ann, bob = Observation(game, "ann"), Observation(game, "bob")
    assert bob.known == ((False, "rules", "take 1 to 3"),) and (True, "goal", "win") in ann.known
    assert ann.heard == bob.heard == ((0, "2"),) and (ann.seat, bob.seat) == (0, 1)
    assert game.utterances(game.steps) == [("ann", "2")]
    # Words without a kind of their own are the first kind that is allowed; out of turn they are none.
    assert bob.meant("3") == take(3) and ann.meant("3") == Action("", "3")


def test_everybody_whose_turn_it_is_acts_and_nobody_else() -> None:
    yes = Action("yes")
    assert in_order({"b": yes, "a": yes}, ("a", "b")) == (AgentAction("a", yes), AgentAction("b", yes))
    with pytest.raises(InvalidActionError, match="'c' acts out of turn; it is the turn of a"):
        in_order({"c": yes}, ("a",))
    with pytest.raises(InvalidActionError, match="nobody: it is over"):
        in_order({"c": yes}, ())
    with pytest.raises(InvalidActionError, match="'b' has to act"):
        in_order({"a": yes}, ("a", "b"))


@given(st.lists(st.sampled_from("abc") | st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=30))
def test_copies_draw_as_if_each_had_copied_the_state_at_once(events: list[object]) -> None:
    lazy = {name: EpisodeRNG(3) for name in "abc"}
    eager = {name: Random(3) for name in "abc"}
    for event in events:
        if isinstance(event, tuple):
            one, other = event
            lazy[other] = lazy[one].copy()
            state = eager[one].getstate()
            eager[other] = Random()
            eager[other].setstate(state)
        else:
            assert lazy[str(event)].draws.random() == eager[str(event)].random()
