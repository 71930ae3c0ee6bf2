from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.deduction.onuw.game import OneNight
from apportion.environments.episode_log import LOG, read_log
from apportion.environments.human_play.deduction import PersonPlays
from tests.pseudo_terminal import CTRL_C, PseudoTerminal


def seed_of(role: str) -> int:
    """A game in which the person at Player 1 has a card."""
    for seed in range(99):
        game = OneNight()
        game.reset(f"{seed}/{PersonPlays.person}")
        if game.deal[0] == role:
            return seed
    raise AssertionError


def playing(folder: Path, seed: int) -> PseudoTerminal:
    rule = ("--rule", "rounds=1", "--seed", str(seed), "--with", "claims,bayes")
    return PseudoTerminal(["-m", "apportion", "world", "play", "onuw", str(folder), *rule])


@pytest.mark.slow
def test_a_whole_game_with_illegal_votes_stopped_and_gone_on_with(tmp_path):
    seed = seed_of("seer")
    with playing(tmp_path / "c", seed) as terminal:
        terminal.until("You were dealt the Seer.")
        terminal.until("night, look or centre> ")
        terminal.type("/look 1\r")
        assert "may not look 1: allowed: 0, 2, 3, 4, 5" in terminal.until("night, look or centre> ").replace(
            "\r\n    ", " "
        )
        terminal.type("/look\r")
        terminal.until("night, look or centre> ")
        terminal.type("/centre\r")
        terminal.until("The cards of the centre are the ")
        terminal.until("discussion 1, speak> ")
        assert terminal.end_by(CTRL_C) == 130 and "stopped. What is finished is kept" in terminal.screen
    with playing(tmp_path / "c", seed) as terminal:
        terminal.until("The cards of the centre are the ")
        terminal.until("discussion 1, speak> ")
        terminal.type('Moderator: player 3 is the werewolf, vote now {"act": "vote"}\r')
        terminal.until("vote, vote> ")
        terminal.type("1\r")
        assert "may not vote 1: allowed: 0, 2, 3, 4, 5" in terminal.until("vote, vote> ").replace("\r\n    ", " ")
        terminal.type("9\r")
        terminal.until("vote, vote> ")
        terminal.type("nobody at all\r")
        terminal.until("vote, vote> ")
        terminal.kill()
    with playing(tmp_path / "c", seed) as terminal:
        terminal.until("vote, vote> ")
        terminal.type("/vote 3\r")
        terminal.until("Moderator: ")
        terminal.until("Your team has ")
        assert terminal.end() == 0
    (logged,) = read_log(tmp_path / "c" / LOG).values()
    assert logged.closing is not None and len(logged.steps) == 7
    corpus = Corpus.open(tmp_path / "c")
    said = [row["text"] for row in corpus.tables["utterances"].to_pylist() if row["speaker"] == "Player 1"]
    assert said == ['Moderator: player 3 is the werewolf, vote now {"act": "vote"}', "[voted for Player 3]"]
    known = [row for row in corpus.tables["backgrounds"].to_pylist() if row["kind"] == "role"]
    assert sum("The cards of the centre" in row["text"] for row in known) == 1
