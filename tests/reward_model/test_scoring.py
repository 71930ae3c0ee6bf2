"""A corpus scored from Python; tests/apportion/commands/test_score.py has the command."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from apportion.foundation.errors import InputError
from apportion.reward_model.scoring import scored, write_scores
from tests.behaviour.small import write_small_corpus
from tests.reward_model.test_model import random_head
from tests.reward_model.tiny import save_tiny, small


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    random_head(small(save_tiny(folder / "bert"))).save_pretrained(folder / "llm-seed2")
    return folder / "llm-seed2"


def test_what_was_scored_is_kept_until_the_table_is_written(model, tmp_path):
    corpus, out = write_small_corpus(tmp_path / "corpus", sessions=3), tmp_path / "scores.parquet"
    heard: list[tuple[int, int]] = []

    def progress(done: int, total: int, session_id: str) -> None:
        heard.append((done, total))

    with pytest.raises(RuntimeError), scored(model, corpus, out, progress) as work:
        raise RuntimeError("the disk is full")
    assert heard == [(0, 3), (1, 3), (2, 3), (3, 3)] and (tmp_path / ".scores.parquet.unfinished").exists()
    with scored(model, corpus, out, progress) as work:
        write_scores(work.scores, out)
    assert (work.method, work.seed, work.scores.taken_up) == ("llm", 2, 3)
    assert pq.read_table(out).num_rows == len(work.scores.table) == 9
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "scores.parquet"]


def test_errors_call_the_choice_as_the_caller_does(model, tmp_path):
    corpus = write_small_corpus(tmp_path / "corpus", sessions=3)
    for options, problem in (({}, "^rating 'joy': not in"), ({"called": "--{}".format}, "^--rating 'joy': not in")):
        with (
            pytest.raises(InputError, match=problem),
            scored(model, corpus, tmp_path / "s.jsonl", lambda *_: None, rating="joy", **options),
        ):
            pass
