"""A run's patterns: read from its tables, embedded, found, kept and read again."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.evaluation.error_slices.result import PatternSettings
from apportion.foundation.errors import InputError
from apportion.pipeline.error_slices import embedded
from apportion.pipeline.error_slices.read import read_turns
from apportion.pipeline.error_slices.write import read_patterns, write_patterns
from apportion.pipeline.results.run_folder import open_run, read_record
from tests.behaviour.command import config
from tests.behaviour.small import write_small_corpus
from tests.pipeline.error_slices.planted_run import plant, write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("patterns"))


def turns_of(run: Path, methods=()):
    return read_turns(open_run(run, None), read_record(run), methods, run / "patterns", "minilm")


def test_turns_are_those_of_the_rewards_with_their_scores(run):
    read = turns_of(run)
    table = pq.read_table(run / "rewards.parquet")
    rows = {(row["session_id"], row["turn"]): row["reward"] for row in table.to_pylist() if row["method"] == "uniform"}
    assert set(read.rewards) == {"uniform", "sentiment"}
    at = {
        (one.episode[0], one.turn): reward for one, reward in zip(read.turns.ids, read.rewards["uniform"], strict=True)
    }
    assert at == pytest.approx(rows)
    corpus = Corpus.open(run.parent / "corpus")
    for one, text, score in zip(read.turns.ids, read.turns.texts, read.turns.scores, strict=True):
        (episode,) = corpus.session(one.episode[0]).episodes()
        assert score == episode.score
        assert text == next(turn.text for turn in episode.turns if turn.turn == one.turn)


def test_equal_words_have_equal_embeddings_that_are_kept(run, monkeypatch):
    first = turns_of(run).turns
    same = [i for i, text in enumerate(first.texts) if text == first.texts[0]]
    assert len(same) > 1 and (first.embeddings[same] == first.embeddings[0]).all()
    monkeypatch.setattr(embedded, "_computed", lambda *_: pytest.fail("embedded again"))
    assert (turns_of(run).turns.embeddings == first.embeddings).all()


def test_a_damaged_file_of_embeddings_is_made_anew(run):
    before = turns_of(run).turns.embeddings
    (run / "patterns" / embedded.KEPT).write_bytes(b"nothing")
    assert (turns_of(run).turns.embeddings == before).all()


@pytest.mark.slow
def test_embeddings_of_the_run_itself_go_before(tmp_path, monkeypatch):
    write_small_corpus(tmp_path / "corpus", sessions=8)
    from apportion.pipeline.config import load_config
    from apportion.pipeline.execution.local import run_locally

    text = 'corpus = "corpus"\noutput = "run"\n[decompose]\nmethods = ["uniform"]\n'
    run_locally(load_config(config(tmp_path, text)), ["rewards", "embed"], quiet=True)
    run = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr(embedded, "_computed", lambda *_: pytest.fail("embedded again"))
        stored = turns_of(run).turns
    record = read_record(run)
    record["config"]["train_reward"]["scoring"] = "one_pass"
    computed = embedded.embeddings_of(run, record, stored.ids, stored.texts, tmp_path / "kept", "minilm")
    assert np.allclose(stored.embeddings, computed, atol=1e-4)
    next(iter((run / "store" / "embed").glob("*/*/embeddings.parquet"))).write_bytes(b"no table")
    assert np.allclose(turns_of(run).turns.embeddings, computed, atol=1e-4)


def test_what_is_planted_is_found_kept_and_read_again(run):
    plant(run)
    (found,) = write_patterns(run, None, ("sentiment",), PatternSettings(), "minilm")
    costly = [kind for kind in found.kinds if kind.difference.value < 0]
    assert costly and all("please rephrase" in example.text.lower() for example in costly[0].examples)
    assert read_patterns(run)["sentiment"] == json.loads(json.dumps(found.to_json()))
    assert "| kind of turn |" in (run / "patterns" / "sentiment.md").read_text()


def test_files_that_are_no_patterns_are_passed_over(tmp_path):
    (tmp_path / "patterns").mkdir()
    for name, text in (("a", "{"), ("b", "[]"), ("c", "{}"), ("d", '{"method": "rrd", "kinds": []}')):
        (tmp_path / "patterns" / f"{name}.json").write_text(text)
    assert list(read_patterns(tmp_path)) == ["rrd"]
    assert read_patterns(tmp_path / "none") == {}


def test_a_method_without_rewards_is_refused(run):
    with pytest.raises(InputError, match=r"method 'sentimant': no rewards in .*did you mean 'sentiment'\?"):
        list(write_patterns(run, None, ("sentimant",), PatternSettings(), "minilm"))


def test_a_run_without_rewards_is_refused(tmp_path):
    run = write_run(tmp_path, sessions=12)
    (run / "rewards.parquet").write_bytes(b"no table")
    with pytest.raises(InputError, match=r"rewards\.parquet: not a readable table"):
        list(write_patterns(run, None, (), PatternSettings(), "minilm"))
    (run / "rewards.parquet").unlink()
    with pytest.raises(
        InputError, match=r"no such file, so this run has no rewards. Run `apportion run --only decompose"
    ):
        list(write_patterns(run, None, (), PatternSettings(), "minilm"))


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path):
    run = write_run(tmp_path, sessions=12)
    (run / "patterns").write_text("a file")
    with pytest.raises(InputError, match=r"patterns: cannot be written"):
        list(write_patterns(run, None, (), PatternSettings(), "minilm"))
