from contextlib import suppress
from itertools import combinations
from math import factorial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Session
from apportion.environments.collect_episodes import play
from apportion.environments.environment import InvalidActionError
from apportion.environments.episode_log import LOG, read_log
from apportion.environments.negotiation.agents import ROSTER
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.negotiation.simulation import NegotiationChoice, game_of
from apportion.environments.simulation import write_corpus
from tests.behaviour.command import config
from tests.behaviour.small import UNSPLIT

CREDIT = """corpus = "play"
output = "run"
rating = "points"
[run]
workers = 1
[decompose]
method = "uniform"
compare = ["savoir", "leave-one-out"]
"""
CREDIT += UNSPLIT


def played_on(folder: Path, session: Session, name: str, kept: set[int]) -> float:
    """H(S) of SAVOIR played on to its end, by the log alone; every act that is heard is a turn."""
    logged = read_log(folder / LOG)[session.session_id]
    game: Negotiation = game_of(logged.opening["about"])
    game.reset(logged.opening["seed"])
    own = {number for number, moves in enumerate(logged.steps[:-1]) if moves[0].agent == name}
    keeping = True
    for number, moves in enumerate(logged.steps):
        keeping = number in kept if number in own else keeping
        selects = number == len(logged.steps) - 1
        if own <= kept if selects else keeping:
            with suppress(InvalidActionError):  # Not allowed without what was left out.
                game.step(dict(moves))
    if not game.over:
        play(game, {seat: ROSTER.scripted(called) for seat, called in logged.opening["agents"]})
    return game.outcome()[name]["points"] or 0.0


def exact(folder: Path, session: Session, name: str, turns: list[int]) -> dict[int, float]:
    """Eq. 4 of SAVOIR over every coalition."""
    n = len(turns)
    coalitions = [set(members) for size in range(n + 1) for members in combinations(turns, size)]
    worth = {frozenset(one): played_on(folder, session, name, one) for one in coalitions}
    return {
        turn: sum(
            factorial(len(one)) * factorial(n - len(one) - 1) / factorial(n) * (worth[one | {turn}] - worth[one])
            for one in worth
            if turn not in one
        )
        for turn in turns
    }


def test_a_run_credits_the_acts_exactly(tmp_path, decompose):
    choice = NegotiationChoice(("conceding", "fair"), games=3, most_acts=10, seed=4)
    write_corpus(choice, tmp_path / "play")
    done = decompose(config(tmp_path, CREDIT))
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(tmp_path / "run" / "rewards.parquet").to_pylist()
    found = {
        (row["session_id"], row["target"], row["turn"]): row["reward"] for row in rows if row["method"] == "savoir"
    }
    assert {row["method"] for row in rows} == {"savoir", "leave-one-out", "uniform"}
    checked = 0
    for session in Corpus.open(tmp_path / "play").iter_sessions():
        for name in ("Alice", "Bob"):
            turns = [turn.turn for turn in session.turns if turn.speaker == name]
            for turn, value in exact(tmp_path / "play", session, name, turns).items():
                assert found.pop((session.session_id, name, turn)) == pytest.approx(value)
                checked += bool(value)
    assert not found
    assert checked > 10
