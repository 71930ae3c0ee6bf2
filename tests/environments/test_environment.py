"""What every environment shares."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.environment import Action, InvalidActionError, Observation
from apportion.foundation.errors import InputError
from tests.environments.games import Countdown, Matching, take


def test_the_same_seed_and_acts_give_the_same_episode() -> None:
    one, other = Countdown(["ann", "bob"]), Countdown(["ann", "bob"])
    for game in (one, other):
        game.reset(5)
        while not game.over:
            game.do(take(2))
    assert one.outcome() == other.outcome() and one.steps == other.steps
    assert {Countdown(["ann", "bob"]).pile, *(_pile(seed) for seed in range(9))} != {one.pile}


def _pile(seed: int) -> int:
    game = Countdown(["ann", "bob"])
    game.reset(seed)
    return game.pile


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
