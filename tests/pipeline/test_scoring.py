from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from apportion.cli import main
from corpus.corpus import Corpus
from corpus.schema import REWARDS
from reward_model.model import RewardModel
from tests.chain.small import write_small_corpus
from tests.reward_model.test_model import random_head
from tests.reward_model.tiny import save_tiny, small


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    random_head(small(save_tiny(tmp_path / "bert"))).save_pretrained(tmp_path / "model")
    return tmp_path / "model", write_small_corpus(tmp_path / "corpus", sessions=3)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["score", *(str(argument) for argument in arguments)])
    out, err = capsys.readouterr()
    return int(str(ended.value.code)), out, err


def test_every_rated_target_s_turns_are_scored(folders, tmp_path, capsys) -> None:
    model, corpus = folders
    code, out, _ = run(capsys, model, corpus, "--out", tmp_path / "s.parquet")
    table = pq.read_table(tmp_path / "s.parquet")
    assert code == 0 and f"wrote {tmp_path / 's.parquet'}: {len(table)} turns of 3 sessions" in out
    assert table.schema.equals(REWARDS.arrow)
    opened, loaded = Corpus.open(corpus), RewardModel.from_pretrained(model)
    expected = [
        (e.session_id, e.rating.rater, turn, value)
        for session in opened.iter_sessions()
        for e in session.episodes()
        for turn, value in zip(e.target_turns, loaded.score_episode(e), strict=True)
    ]
    columns = [table.column(name).to_pylist() for name in ("session_id", "rater", "turn", "reward")]
    assert list(zip(*columns, strict=True)) == expected


def test_a_speaker_can_be_named_and_needs_no_rating(folders, tmp_path, capsys) -> None:
    model, corpus = folders
    speaker = Corpus.open(corpus).session("s00").turns[0].speaker
    pq.write_table(Corpus.open(corpus).ratings.slice(0, 0), corpus / "ratings.parquet")
    assert run(capsys, model, corpus, "-o", tmp_path / "s.parquet")[0] == 2
    code, out, _ = run(capsys, model, corpus, "-o", tmp_path / "s.parquet", "--target", speaker, "--json")
    assert code == 0 and json.loads(out)["sessions"] == 3
    assert set(pq.read_table(tmp_path / "s.parquet").column("target").to_pylist()) == {speaker}


def test_nothing_to_score_is_said_and_nothing_written(folders, tmp_path, capsys) -> None:
    code, _, err = run(capsys, *folders, "-o", tmp_path / "s.parquet", "--target", "nobody")
    assert code == 2 and "no session has a turn of 'nobody'" in err
    assert not list(tmp_path.glob("*.parquet"))


def test_a_file_that_is_there_stays(folders, tmp_path, capsys) -> None:
    (tmp_path / "s.parquet").write_text("mine")
    code, _, err = run(capsys, *folders, "-o", tmp_path / "s.parquet")
    assert code == 2 and "--force" in err and (tmp_path / "s.parquet").read_text() == "mine"
    assert run(capsys, *folders, "-o", tmp_path / "s.parquet", "--force")[0] == 0


def test_wrong_paths(folders, tmp_path, capsys) -> None:
    model, corpus = folders
    code, _, err = run(capsys, tmp_path / "none", corpus)
    assert code == 2 and "none" in err
    code, _, err = run(capsys, model, tmp_path / "none")
    assert code == 2 and "none: no such folder" in err
    code, _, err = run(capsys, model, corpus, "-o", tmp_path / "no" / "s.parquet")
    assert code == 2 and "there is no folder" in err


def test_a_broken_session_is_named_and_left_out(folders, tmp_path, capsys) -> None:
    model, corpus = folders
    table = pq.read_table(corpus / "ratings.parquet")
    rows = [{**row, "score": 99.0} if row["session_id"] == "s01" else row for row in table.to_pylist()]
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), corpus / "ratings.parquet")
    code, out, _ = run(capsys, model, corpus, "-o", tmp_path / "s.parquet")
    assert code == 1 and "left out:" in out and "s01" in out
    assert set(pq.read_table(tmp_path / "s.parquet").column("session_id").to_pylist()) == {"s00", "s02"}


def test_a_corpus_with_a_fault_that_concerns_all_of_it(folders, capsys) -> None:
    model, corpus = folders
    table = pq.read_table(corpus / "utterances.parquet")
    pq.write_table(table.drop_columns(["text"]), corpus / "utterances.parquet")
    code, _, err = run(capsys, model, corpus)
    assert code == 2 and "text" in err
