import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from tests.behaviour.command import config, in_process
from tests.behaviour.small import write_small_corpus

TEXT = """corpus = "corpus"
output = "run"
rating = "satisfaction"
[run]
workers = 1
[split]
train = 0.5
validation = 0.1
test = 0.4
policy = 0.0
[train_reward]
epochs = 2
[decompose]
method = "sentiment"
compare = ["uniform"]
"""
SILENT = [f"s{number:02d}" for number in range(0, 24, 3)]
"""Sessions in which nobody replies to any turn of the target."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("silent")
    write_small_corpus(folder / "corpus", sessions=24)
    corpus = Corpus.open(folder / "corpus")
    said = corpus.utterances
    silent = pc.is_in(said["session_id"], pa.array(SILENT))
    dropped = pc.and_(silent, pc.and_(pc.equal(said["speaker"], "user"), pc.greater(said["turn"], 0)))
    replace(corpus, utterances=said.filter(pc.invert(dropped))).write(folder / "corpus")
    with pytest.MonkeyPatch.context() as patch:
        done = in_process(patch, "run", config(folder, TEXT), "--until", "evaluate")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "run", done.stdout


def test_such_sessions_have_no_rewards_and_the_others_keep_theirs(run):
    folder, _ = run
    rewards = pq.read_table(folder / "rewards.parquet")
    by_method = {
        method: set(rewards.filter(pc.equal(rewards["method"], method))["session_id"].to_pylist())
        for method in ("uniform", "sentiment")
    }
    assert by_method["uniform"] - by_method["sentiment"] == set(SILENT)
    assert pq.read_table(folder / "quarantine.parquet").num_rows == 0
    projection = json.loads((folder / "projections" / "sentiment-seed0.json").read_text())
    assert {row["session_id"] for row in projection["unjudged"]} == set(SILENT)
    assert "unjudged" not in json.loads((folder / "projections" / "uniform-seed0.json").read_text())


def test_it_is_told_with_counts_and_costs_no_other_method_a_session(run):
    folder, out = run
    splits = {row["session_id"]: row["split"] for row in pq.read_table(folder / "splits.parquet").to_pylist()}
    (rests,) = json.loads((folder / "evaluation.json").read_text())["rests"]
    for split in ("training", "test"):
        sessions = {name for name, of in splits.items() if of == {"training": "train"}.get(split, split)}
        assert rests[split] == len(sessions - set(SILENT)) and rests[f"{split}_sessions"] == len(sessions)
    tested = rests["test_sessions"]
    assert rests["test"] < tested
    assert f"Decompositions: {tested} test sessions" in out
    assert f"sentiment: rests on {rests['training']} of {rests['training_sessions']} training sessions, and as a" in out
    assert f"no rewards     by sentiment where it had nothing to judge by, in {len(SILENT)} of the sessions" in out
    assert "lacks" not in out
