"""Six games of hidden roles in the checkout: the log is theirs, and what was recorded is all that is asked of them."""

import json
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from apportion.corpus.corpus import Corpus
from apportion.environments.deduction.league import read_matches
from apportion.environments.registry import maker_of
from tests.behaviour.command import ROOT, in_process

GAMES = ROOT / "demo" / "deduction" / "games"


def test_the_log_says_who_won_each_game_and_each_can_be_played_on() -> None:
    corpus = Corpus.open(GAMES / "six")
    won = {(row["session_id"], row["target"]): row["score"] for row in corpus.ratings.to_pylist()}
    for matches in read_matches(GAMES / "six"):
        assert len(matches.matches) == 2
        for match in matches.matches:
            made_by, _, identity = maker_of(corpus.session(match.name), GAMES / "six")
            assert made_by == matches.game and identity
            for seat in match.seats:
                assert won.get((match.name, f"Player {seat.number}"), seat.won) == seat.won


def test_recorded_judgements_answer_every_request(tmp_path: Path, monkeypatch) -> None:
    text = (GAMES / "six.toml").read_text(encoding="utf-8")
    for place in ("six", "six.jsonl"):
        text = text.replace(f'"{place}"', json.dumps(str(GAMES / place)))
    text = text.replace('compare = ["savoir", "influence"]\n', "")
    (tmp_path / "six.toml").write_text(text, encoding="utf-8")
    done = partial(in_process, monkeypatch)("run", "--only", "decompose", tmp_path / "six.toml")
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(tmp_path / "six-run" / "rewards.parquet").to_pylist()
    assert len({(row["session_id"], row["target"]) for row in rows}) == 33
    assert not pq.read_table(tmp_path / "six-run" / "quarantine.parquet").num_rows
