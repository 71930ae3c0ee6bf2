import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from tests.behaviour.command import config, in_process
from tests.behaviour.small import write_small_corpus
from tests.reward_model.tiny import save_tiny

TURNS = 5000
RATING = {"rater": "user", "target": "bot", "name": "satisfaction", "low": 1.0, "high": 5.0, "higher_is_better": True}
ODD: dict[str, list[tuple[str, str]]] = {
    "one": [("bot", "Here is the table you asked for."), ("user", "Thank you.")],
    "long": [("user", "Thank you.") if i % 2 else ("bot", f"It is number {i}.") for i in range(TURNS)],
    "empty": [("user", ""), ("bot", ""), ("user", "  "), ("bot", "")],
}
OF_WORDS = ("sentiment", "sentiment-raw", "sentiment-utterance", "sentiment-utterance-raw", "reaction", "mix")
"""Methods that judge by words alone: a dialogue of empty texts holds nothing that they could judge by."""
WITHOUT = {
    "alone": [("bot", "Nobody has answered yet.")],
    "silent": [("user", "Hello?"), ("user", "Is anybody there?")],
}
"""One turn in all, and no turn of the target: nothing can be credited, and the session is named."""


def write_odd_corpus(folder: Path) -> None:
    """Fourteen plain dialogues and the odd ones, without labels of turns."""
    odd = {**ODD, **WITHOUT}
    tables = dict(Corpus.open(write_small_corpus(folder, sessions=14)).tables)
    rows = {
        "sessions": [{"session_id": name} for name in odd],
        "utterances": [
            {"session_id": name, "turn": turn, "speaker": speaker, "text": text}
            for name, said in odd.items()
            for turn, (speaker, text) in enumerate(said)
        ],
        "ratings": [{"session_id": name, "score": 2.0 + i % 3, **RATING} for i, name in enumerate(odd)],
    }
    for name, more in rows.items():
        tables[name] = pa.concat_tables([tables[name], pa.Table.from_pylist(more, schema=tables[name].schema)])
    tables["turn_labels"] = tables["turn_labels"].slice(0, 0)
    Corpus.of(folder, tables).write(folder)


def same_scores(folder: Path) -> None:
    path = folder / "ratings.parquet"
    table = pq.read_table(path)
    scores = pa.array([3.0] * table.num_rows)
    pq.write_table(table.set_column(table.schema.get_field_index("score"), "score", scores), path)


def settings(folder: Path) -> Path:
    """A backbone of two narrow layers, so that 5,000 turns take seconds."""
    small = save_tiny(folder / "tiny")
    return config(
        folder,
        f'corpus = "corpus"\n[decompose.reaction]\nbackbone = "{small}"\nmax_tokens = 32\n'
        f'[train_reward]\nbackbone = "{small}"\nmax_tokens = 32\nepochs = 1\n',
    )


@pytest.fixture
def benchmark(tmp_path, monkeypatch):
    def benchmark(code: int = 0) -> tuple[str, str, dict]:
        options = ("-c", settings(tmp_path), "-o", tmp_path / "run", "--seeds", "1")
        done = in_process(monkeypatch, "benchmark", tmp_path / "corpus", *options)
        assert done.returncode == code, done.stdout + done.stderr
        page = (tmp_path / "run" / "benchmark.md").read_text(encoding="utf-8")
        return done.stdout + done.stderr, page, json.loads((tmp_path / "run" / "benchmark.json").read_text())

    return benchmark


@pytest.mark.slow
def test_one_turn_and_five_thousand_no_target_turns_empty_text_and_no_labels(tmp_path, benchmark):
    write_odd_corpus(tmp_path / "corpus")
    said, page, found = benchmark(code=1)
    assert "session alone: 'user' is not a speaker of the session; allowed: bot" in said
    assert "session silent: 'bot' is not a speaker of the session; allowed: user" in said
    assert "quarantined: 2 " in said
    rewards = pq.read_table(tmp_path / "run" / "rewards.parquet").to_pylist()
    assert (
        {row["method"] for row in rewards} == set(found["methods"]) >= {"rrd", "ircr", "rudder", "rrd-ls", "reaction"}
    )
    for method in found["methods"]:
        mine = [row for row in rewards if row["method"] == method]
        odd = Counter(row["session_id"] for row in mine if row["session_id"] in {**ODD, **WITHOUT})
        nothing = {"empty"} if method in OF_WORDS else set()
        assert odd == {n: k for n, k in {"one": 1, "long": TURNS // 2, "empty": 2}.items() if n not in nothing}, method
        assert (f"no rewards     by {method} where it had nothing to judge by, in 1 of" in said) == bool(nothing), (
            method
        )
        assert np.isfinite([row["reward"] for row in mine]).all(), method
    scores = pq.read_table(tmp_path / "run" / "scores.parquet")
    assert np.isfinite(scores.column("reward").to_numpy()).all()
    assert "Spearman: not given; the corpus has no labels of turns by people" in page
    assert "AUC: not given; the corpus has no labels of turns by people" in page


def test_identical_scores_give_rewards_and_a_warning(tmp_path, benchmark):
    write_small_corpus(tmp_path / "corpus", sessions=14)
    same_scores(tmp_path / "corpus")
    said, page, found = benchmark()
    assert "without variance" in said and "without variance" in page
    rewards = pq.read_table(tmp_path / "run" / "rewards.parquet").column("reward").to_numpy()
    assert np.isfinite(rewards).all()
    mean = next(row for row in found["evaluation"]["baselines"] if row["method"] == "Mean")
    assert mean["global_loss"]["value"] == pytest.approx(0.0)
