"""The run folder of a real, small run."""

import json

import pyarrow.parquet as pq
import pytest

from apportion.pipeline.config import load_config
from apportion.pipeline.execution.local import dry_run_text, run_locally
from apportion.pipeline.execution.shards import finish, run_shard
from tests.behaviour.command import config, without_workers
from tests.behaviour.small import write_small_corpus

TEXT = 'corpus = "corpus"\noutput = "run"\n[decompose]\nmethod = "sentiment"\ncompare = ["uniform"]\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("publish")
    write_small_corpus(folder / "corpus", sessions=6)
    with without_workers():
        run_locally(load_config(config(folder, TEXT)), ["rewards"], quiet=True)
    return folder


def test_tables_and_the_record_are_there(folder):
    rewards = pq.read_table(folder / "run" / "rewards.parquet")
    assert set(rewards["method"].to_pylist()) == {"uniform", "sentiment"}
    assert rewards["reward"].null_count == 0
    record = json.loads((folder / "run" / "run.json").read_text())
    assert record["stages"]["judge"] == {"finished": 12, "units": 12, "version": 1}
    assert record["quarantine"] == {}
    assert record["versions"]["torch"]
    assert set(record["inputs"]) >= {"ratings.parquet", "utterances.parquet"}
    assert record["corpus"] == "../corpus" and str(folder) not in json.dumps(record)


def test_publishing_again_touches_nothing(folder):
    before = {path: path.stat().st_mtime_ns for path in (folder / "run").glob("*.parquet")}
    counts = finish(str(folder / "config.toml"))
    assert counts["judge"] == 12 and counts["quarantined"] == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_shard_run_again_reuses_everything(folder):
    assert run_shard(str(folder / "config.toml"), "judge", 0, 1) == {"done": 0, "reused": 12, "quarantined": 0}


def test_a_damaged_artifact_is_made_again(folder):
    victim = next((folder / "run" / "store" / "judge").glob("*/*/judgements.parquet"))
    victim.write_bytes(b"damaged")
    with without_workers():
        summary = run_locally(load_config(folder / "config.toml"), ["rewards"], quiet=True)
    assert summary.result.counts()["judge"] == {"done": 1, "reused": 11}


def test_a_dry_run_says_what_is_finished(folder):
    text = dry_run_text(load_config(folder / "config.toml"), ["rewards"], as_json=False)
    assert "judge               12        12" in text
    assert "nothing was done" in text
