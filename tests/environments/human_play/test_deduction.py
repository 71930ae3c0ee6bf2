"""A person's games as a corpus, and what is typed."""

from dataclasses import replace
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.deduction.events import SPEAK, VOTE
from apportion.environments.deduction.games import game_called
from apportion.environments.episode_log import LOG, read_log
from apportion.environments.human_play.deduction import PersonPlays
from apportion.environments.human_play.episode import PersonPlayed
from apportion.foundation.errors import InputError
from tests.environments.deduction.toy import MOLE, PEEK
from tests.environments.terminal.test_human_agent import Typist

CHOICE = PersonPlays(MOLE, seat=2, partners=("random",), seed=3)


def mole_at(seat: int) -> PersonPlays:
    """The choice of a seed by which that seat has the mole."""
    for seed in range(99):
        game = MOLE.make(MOLE.options(), None)
        game.reset(f"{seed}/person")
        if game.deal[seat - 1] == "mole":
            return replace(CHOICE, seat=seat, seed=seed)
    raise AssertionError


def play(out: Path, *lines: str, choice: PersonPlays = CHOICE) -> tuple[PersonPlayed, str]:
    typist = Typist(*lines)
    return choice.play(out, typist.screen), typist.text


def test_a_person_speaks_and_votes_by_numbers(tmp_path: Path) -> None:
    choice = mole_at(2)
    lines = (
        "hello",
        "/peek 2",
        "2 3",
        "/peek",
        "/nothing now",
        "3",
        "I am no mole",
        "/vote",
        "/vote 2",
        "Player 1",
        "x",
    )
    played, screen = play(tmp_path / "one", *lines, choice=choice)
    for problem in (
        "! which player? Type /peek and one of: [1] or [3]",
        "! 'Player 2' may not peek 2: allowed: 1, 3",
        "! /peek needs words: /peek NUMBER",
        "! /nothing takes no words",
        "! 'Player 2' may not vote 2: allowed: 0, 1, 3",
    ):
        assert problem in screen
    assert "night 1, peek> " in screen and "day 1, speak> " in screen and "day 1, vote> " in screen
    assert "The rules: One of three is the mole." in screen and "You are Player 2, the mole." in screen
    (logged,) = read_log(tmp_path / "one" / LOG).values()
    acts = [act for moves in logged.steps for name, act in moves if name == "Player 2"]
    assert [(act.kind, act.text, act.data) for act in acts] == [
        (PEEK, "", 3),
        (SPEAK, "I am no mole", None),
        (VOTE, "", 1),
    ]
    (session,) = Corpus.open(tmp_path / "one").iter_sessions()
    assert session.source == "simulated: mole, agents random and person and random, judge rules"
    assert played.scores == {one.name: one.score for one in session.ratings if one.target == "Player 2"}
    assert "Moderator: Player 2 was the mole." in screen and screen.count("I am no mole") == 1


@pytest.mark.parametrize("typed", ["1 2", "1 or 3", "-1", "13333", "1.3"])
def test_what_may_mean_another_player_is_no_vote(tmp_path: Path, typed: str) -> None:
    choice = replace(mole_at(1), seat=2)
    _, screen = play(tmp_path / "one", "hello", typed, "[3]", choice=choice)
    assert "! which player? Type /vote and one of: [0] or [1] or [3]" in screen and "You voted for Player 3" in screen


def test_who_cannot_play_is_told(tmp_path: Path) -> None:
    for choice, why in (
        (replace(CHOICE, seat=4), "seat 4: no such seat; there are 1 to 3"),
        (replace(CHOICE, partners=()), "nobody plays the other seats"),
        (replace(CHOICE, person="random"), "is an agent's name"),
        (
            replace(CHOICE, game=game_called("werewolf"), partners=("sla@x",)),
            r"agent 'sla@x': No such file.*train player",
        ),
    ):
        with pytest.raises(InputError, match=why):
            play(tmp_path / "one", choice=choice)
