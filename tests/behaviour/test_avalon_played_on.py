from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.deduction.avalon.game import GAME
from apportion.environments.deduction.events import MODERATOR
from apportion.environments.deduction.simulation import DeductionChoice
from apportion.environments.simulation import write_corpus
from tests.behaviour.command import config

CREDIT = """corpus = "play"
output = "run"
rating = "win"
[run]
workers = 1
[split]
train = 1
validation = 0
test = 0
policy = 0
[decompose]
method = "uniform"
compare = ["savoir", "leave-one-out"]
[decompose.savoir]
rollouts = 1
"""
FEW = "budget = 16\n"


def credited(
    folder: Path, decompose: partial, games: int, *rules: str, credit: str = CREDIT
) -> dict[tuple[str, str, str], dict[int, float]]:
    """By method, session and player the credit of each turn."""
    choice = DeductionChoice(GAME, ("claims",), games=games, seed=3, rules=GAME.options_of(rules))
    write_corpus(choice, folder / "play")
    done = decompose(config(folder, credit))
    assert done.returncode == 0, done.stderr
    found: dict[tuple[str, str, str], dict[int, float]] = {}
    for row in pq.read_table(folder / "run" / "rewards.parquet").to_pylist():
        found.setdefault((row["method"], row["session_id"], row["target"]), {})[row["turn"]] = row["reward"]
    return found


def credit_of_speeches(folder: Path, found: dict[tuple[str, str, str], dict[int, float]]) -> float:
    """How much is credited to speeches by `savoir`, after every turn of every player was found credited."""
    by_speech = 0.0
    for session in Corpus.open(folder / "play").iter_sessions():
        for name in {turn.speaker for turn in session.turns} - {MODERATOR}:
            texts = {turn.turn: turn.text for turn in session.turns if turn.speaker == name}
            for method in ("savoir", "leave-one-out", "uniform"):
                assert set(found[method, session.session_id, name]) == set(texts)
            credit = found["savoir", session.session_id, name]
            assert -1 - 1e-9 <= sum(credit.values()) <= 1 + 1e-9  # The rating is 0 or 1.
            by_speech += sum(abs(one) for turn, one in credit.items() if not texts[turn].startswith("["))
    assert not any(target == MODERATOR for _, _, target in found)
    return by_speech


@pytest.mark.slow
def test_speeches_votes_and_teams_are_credited(tmp_path, decompose):
    rules = ("roles=merlin,servant,servant,assassin", "sizes=2,2,2", "proposals=2")
    assert credit_of_speeches(tmp_path, credited(tmp_path, decompose, 1, *rules, credit=CREDIT + FEW)) > 0


@pytest.mark.slow
def test_so_are_those_of_whole_games(tmp_path, decompose):
    assert credit_of_speeches(tmp_path, credited(tmp_path, decompose, 2)) > 0
