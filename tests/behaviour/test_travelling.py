import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import RATINGS
from tests.behaviour.command import chosen_methods, config, in_process
from tests.behaviour.small import write_small_corpus

TEXT = """corpus = "{}"
output = "{}"
[run]
workers = 1
last_stage = "train-reward"
[decompose]
{}[decompose.reaction]
pretrained = "learnt.safetensors"
{}
[train_reward]
epochs = 1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two corpora with scores, what `train reactions` made of the first, and the second without its scores."""
    folder = tmp_path_factory.mktemp("travelling")
    write_small_corpus(folder / "taught", sessions=16)
    write_small_corpus(folder / "scored", sessions=10)
    scored = Corpus.open(folder / "scored")
    bare = {name: table for name, table in scored.tables.items() if name not in ("ratings", "turn_labels")}
    Corpus.of(folder / "bare", {**bare, "ratings": RATINGS.arrow.empty_table()}).write(folder / "bare")
    with pytest.MonkeyPatch.context() as patch:
        done = in_process(
            patch, "train", "reactions", folder / "taught", "--out", folder / "learnt.safetensors", "--json"
        )
    assert done.returncode == 0, done.stdout + done.stderr
    card = json.loads(done.stdout)
    assert card["learnt_from"][0]["sessions"] == 16 and card["name"] == "learnt"
    return folder


def run(folder: Path, corpus: str, output: str, methods: Sequence[str] = ("prior",), more: str = "") -> tuple[int, str]:
    with pytest.MonkeyPatch.context() as patch:
        done = in_process(patch, "run", config(folder, TEXT.format(corpus, output, chosen_methods(*methods), more)))
    return done.returncode, done.stdout + done.stderr


def values(folder: Path, output: str, column: str) -> dict[tuple[str, int], float]:
    rows = pq.read_table(folder / output / "rewards.parquet").to_pylist()
    return {(row["session_id"], row["turn"]): row[column] for row in rows if row["method"] == "prior"}


def test_a_corpus_without_any_score_gets_rewards_a_reward_model_and_a_warning(folder):
    code, said = run(folder, "bare", "bare-run")
    assert code == 0, said
    assert "no session has a score: the rewards of 10 of 10 sessions are what a model of reactions that was" in said
    assert (folder / "bare-run" / "reward_models" / "prior-seed0" / "model.safetensors").is_file()
    rewards, raw = values(folder, "bare-run", "reward"), values(folder, "bare-run", "raw_reward")
    assert len(rewards) == 30 and all(rewards[key] == pytest.approx(raw[key] / 3) for key in rewards)
    projection = json.loads((folder / "bare-run" / "projections" / "prior-seed0.json").read_text())
    assert projection["rule"] == "foretold" and projection["spread"] is None
    page = (folder / "bare-run" / "report.html").read_text()
    assert "no score" in page and "foretold, nobody&#39;s score" in page and "on 0 to 0" not in page


def test_good_answers_get_more_than_bad_ones_though_nobody_scored(folder):
    run(folder, "bare", "bare-run")
    rewards = values(folder, "bare-run", "reward")
    labels = {(r["session_id"], r["turn"]): r["value"] for r in Corpus.open(folder / "scored").turn_labels.to_pylist()}
    good = [reward for key, reward in rewards.items() if labels[key] == 1.0]
    bad = [reward for key, reward in rewards.items() if labels[key] == 0.0]
    assert min(good) > max(bad)


def test_few_scores_are_told_and_shared_out_exactly(folder):
    code, said = run(folder, "scored", "scored-run", ("uniform", "prior"))
    assert code == 0, said
    assert said.count("too few to tell methods apart") == 1, "said once a run"
    page = (folder / "scored-run" / "report.html").read_text()
    assert "(learnt: learnt from 16 sessions of taught" in page
    assert values(folder, "scored-run", "raw_reward") == values(folder, "bare-run", "raw_reward")
    projection = json.loads((folder / "scored-run" / "projections" / "prior-seed0.json").read_text())
    assert projection["rule"] == "spread"


def test_who_is_credited_where_nobody_was_rated(folder):
    code, said = run(folder, "bare", "named-run", more='target = "bot"')
    assert code == 0, said
    assert values(folder, "named-run", "reward") == values(folder, "bare-run", "reward")
    code, said = run(folder, "bare", "first-run", more='target = "first"')
    assert code == 0 and {turn % 2 for _, turn in values(folder, "first-run", "reward")} == {0}
    code, said = run(folder, "bare", "nobody-run", more='target = "ann"')
    assert code == 2 and "in no session of" in said and "first, second or a speaker's name: bot, user." in said


def test_methods_that_need_a_score_are_refused_where_there_is_none(folder):
    code, said = run(folder, "bare", "mixed-run", ("uniform", "prior"))
    assert code == 2 and "Of its methods, uniform cannot do without one. Leave them out" in said


def test_a_model_that_is_not_there_or_was_learnt_otherwise_stops_before_any_work(folder):
    code, said = run(folder, "scored", "other-run", more="max_tokens = 64")
    assert code == 2 and "learnt with max_tokens = 128, and decompose.reaction.max_tokens is 64" in said
    text = TEXT.format("scored", "gone-run", chosen_methods("prior"), "").replace(
        "learnt.safetensors", "gone.safetensors"
    )
    with pytest.MonkeyPatch.context() as patch:
        done = in_process(patch, "run", config(folder, text))
    assert done.returncode == 2 and "gone.safetensors" in done.stderr and "no such file" in done.stderr
    assert not (folder / "gone-run" / "store").exists()


def test_rewards_of_a_corpus_without_scores_are_exported_for_trainers(folder):
    run(folder, "bare", "bare-run")
    with pytest.MonkeyPatch.context() as patch:
        done = in_process(patch, "export", folder / "bare-run", "--format", "dataset", "--out", folder / "exported")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [row for path in sorted((folder / "exported" / "data").iterdir()) for row in pq.read_table(path).to_pylist()]
    assert len(rows) == 10 and {row["score"] for row in rows} == {None}
    rewards = values(folder, "bare-run", "reward")
    for row in rows:
        assert [row["rewards"][turn] for turn in (1, 3, 5)] == [rewards[row["session_id"], turn] for turn in (1, 3, 5)]
