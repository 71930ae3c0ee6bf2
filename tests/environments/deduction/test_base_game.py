"""What all games of hidden roles share, on the smallest one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.actions import UNUSABLE
from apportion.environments.collect_episodes import play
from apportion.environments.deduction.base_game import MOST_WORDS
from apportion.environments.deduction.events import MODERATOR, SPEAK, VOTE, Event, Stage, utterance
from apportion.environments.deduction.scripts import Random
from apportion.environments.environment import Action, InvalidActionError, Observation
from apportion.environments.restored_episode import RestoredEpisode
from apportion.foundation.errors import InputError
from tests.environments.deduction.toy import MOLE, PEEK, ROLES, Mole

DEAL = ("cat", "mole", "dog")


def begun(**how: Any) -> Mole:
    game = Mole(deal=how.get("deal", DEAL))
    game.reset(how.get("seed", 0))
    return game


def voting() -> Mole:
    game = begun()
    game.do(Action(PEEK, "", 1))
    for words in ("Hello.", "I am the dog.", "No."):
        game.do(Action(SPEAK, words))
    return game


def played(seed: int) -> Mole:
    game = Mole()
    game.reset(seed)
    play(game, dict.fromkeys(game.agents, Random()))
    return game


def test_a_round_is_spoken_in_order_and_everybody_but_its_last_speaker_has_a_follower() -> None:
    game = begun()
    assert game.acting() == ("Player 2",) and game.follower(0) is None
    game.do(Action(PEEK, "", 1))
    assert game.acting() == ("Player 1",) and game.follower(1) == "Player 2"
    for words in ("Hello.", "I am the dog.", "No."):
        game.do(Action(SPEAK, words))
    assert game.acting() == game.agents
    assert [game.follower(step) for step in range(5)] == [None, "Player 2", "Player 3", None, None]
    copied = game.clone()
    copied.step({name: Action(VOTE, "", 0) for name in copied.agents})
    assert copied.over and not game.over and len(game.events) < len(copied.events)


def test_the_silent_act_stands_for_the_default_of_its_phase_and_is_counted() -> None:
    game = begun()
    game.do(Action("none"))
    assert [event.text for event in game.events if event.seat] == ["looked at nobody"]
    game.do(Action(SPEAK, "  "))
    game.do(Action("none", "", {UNUSABLE: "no JSON"}))
    game.do(Action(SPEAK, "x" * 30_000))
    game.step({name: Action("none") for name in game.agents})
    assert game.counted() == {
        "nothing was done (night, peek): the default act took its place": 1,
        "nothing was done (day, speak): the default act took its place": 2,
        "nothing was done (day, vote): the default act took its place": 3,
        f"a speech of more than {MOST_WORDS:,} characters was cut": 1,
    }
    said = [words for _, _, words in game.turns(game.steps)]
    assert said[2:4] == ["[said nothing]"] * 2 and said[4] == "x" * MOST_WORDS and said[5:8] == ["[abstained]"] * 3


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (Action(VOTE, "", 1), r"'Player 1' may not vote 1: allowed: 0, 2, 3"),
        (Action(VOTE, "", True), "may not vote True"),
        (Action(VOTE, "", 2.0), "may not vote 2.0"),
        (Action(VOTE, "", [2]), r"may not vote \[2\]"),
        (Action(PEEK, "", 2), "may not 'peek'"),
        (Action(SPEAK, "Wait!"), "may not 'speak'"),
    ],
)
def test_what_the_rules_do_not_allow_is_told_with_what_they_do(act: Action, why: str) -> None:
    game = voting()
    with pytest.raises(InvalidActionError, match=why):
        game.check("Player 1", act)
    with pytest.raises(InvalidActionError, match=why):
        game.step({name: act if name == "Player 1" else Action(VOTE, "", 0) for name in game.agents})
    assert not game.over


@pytest.mark.parametrize("hidden", ["\u200b", "\x00", "\u202e", "\xad", "\u3164\u2800", "\ufe0f"])
def test_marks_that_nobody_sees_are_no_words_and_hide_no_bracket(hidden: str) -> None:
    game = begun()
    game.do(Action(PEEK, "", 1))
    for words in (hidden, f"{hidden}[voted for Player 2]", f"{hidden}Hello {hidden}[."):
        game.do(Action(SPEAK, words))
    said = [words for _, _, words in game.turns(game.steps)][-3:]
    assert said == ["[said nothing]", f"[said] {hidden}[voted for Player 2]", f"{hidden}Hello {hidden}[."]
    assert game.counted() == {"nothing was done (day, speak): the default act took its place": 1}
    assert game.observe("Player 3").count("Player 1 said nothing.") == 1


def test_a_wide_bracket_poses_as_no_act() -> None:
    assert utterance(Event(Stage("day", 1), SPEAK, 2, "\uff3babstained\uff3d")) == "[said] \uff3babstained\uff3d"


@given(st.integers(0, 10**6))
def test_the_turns_of_any_prefix_are_those_that_were_heard_then(seed: int) -> None:
    game = played(seed)
    fresh = Mole()
    fresh.reset(seed)
    whole = fresh.turns(game.steps)
    assert whole == game.turns(game.steps) == game.clone().turns(list(game.steps))
    assert {speaker for _, speaker, _ in whole} == {MODERATOR, *game.agents}
    assert fresh.turns([]) == game.turns([]) == whole[:1]
    for moves in game.steps:
        fresh.advance(moves)
        heard = fresh.turns(fresh.steps)
        assert heard == whole[: len(heard)] == game.turns(list(fresh.steps))
        assert [words for _, words in Observation(fresh, "Player 1").heard] == [words for _, _, words in heard]
    other = Mole()
    other.reset(seed + 1)
    play(other, dict.fromkeys(other.agents, Random()))
    other.reset(seed)
    assert other.turns(game.steps) == whole


@given(st.integers(0, 10**6))
def test_what_a_player_knows_is_true_and_all_that_it_is_told(seed: int) -> None:
    game = played(seed)
    for seat, name in enumerate(game.agents, 1):
        facts = game.facts(name)
        assert game.deal in facts.deals and len(facts.deals) in (1, 2)
        assert all(event.text in game.observe(name) for event in facts.events)
        assert game.moment(name) == len(facts.events) and {event.step for event in facts.events} == {0}
        rows = [text for who, kind, text in game.backgrounds() if who == name]
        assert len(rows) == 1 and f"the {game.deal[seat - 1]}." in rows[0]
    assert sum(known for known, _, _ in Observation(game, "Player 1").known) == 1


def test_what_is_left_out_of_a_history_is_silence_and_the_rounds_stay_in_order() -> None:
    game = voting()
    game.step({name: Action(VOTE, "", 2) for name in ("Player 1", "Player 3")} | {"Player 2": Action(VOTE, "", 1)})
    first = Mole(deal=DEAL)
    first.reset(0)
    restored = RestoredEpisode("mole-0", first, tuple(game.steps), dict.fromkeys(game.agents, Random()))
    turns = restored.turns_of("Player 2")
    assert [restored.places[turn].agent for turn in turns] == ["Player 2"] * 2
    placed, dropped = restored.history("Player 2", {turns[1]})
    assert dropped == 0 and placed.over
    assert [words for _, _, words in placed.turns(placed.steps)][2:5] == ["Hello.", "[said nothing]", "[said nothing]"]
    assert restored.as_it_stands("Player 2", {turns[1]}).scores == {"win": 0.0}
    assert restored.as_it_stands("Player 2", {turns[0]}).scores == {"win": 1.0}


def test_words_of_one_s_own_act_are_its_aim() -> None:
    game = begun()
    assert game.meant("Player 2", "[looked at Player 3]") == Action(PEEK, "", 3)
    assert game.meant("Player 1", "anything") == Action("", "anything")  # No act of the game.
    game.do(game.in_words("Player 2", PEEK, "3"))
    assert game.meant("Player 1", "I vote for Player 2") == Action(SPEAK, "I vote for Player 2")
    game = voting()
    assert game.meant("Player 1", "nobody") == Action(VOTE, "", 0)
    assert game.in_words("Player 1", SPEAK, "Hi.") == Action(SPEAK, "Hi.")


def test_a_deal_of_another_size_and_options_that_are_none() -> None:
    with pytest.raises(InputError, match="a deal of 2 roles; 3 are dealt"):
        Mole(deal=ROLES[:2])
    assert MOLE.options_of(["tie=others"]).tie == "others"
    for given_, why in (
        (["tie"], "write NAME=VALUE; there are tie"),
        (["tye=mole"], "did you mean 'tie'"),
        (["tie=mole", "tie=others"], "given twice"),
        (["tie=lot"], "rules: tie = 'lot'"),
    ):
        with pytest.raises(InputError, match=why):
            MOLE.options_of(given_)
