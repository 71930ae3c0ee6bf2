import json

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch

from tests.behaviour.command import config
from tests.behaviour.small import QUARTERS, TINY_POLICY, write_small_corpus

TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
[decompose]
method = "rudder"
compare = ["uniform", "rrd"]
[train_reward]
epochs = 2
head_hidden_size = 8
objective = "{}"
[evaluate]
bootstrap = 100
[align]
reward_method = "rrd"
steps = 1
batch_size = 4
mini_batch_size = 4
max_new_tokens = 4
samples = 1
"""
TEXT += QUARTERS + TINY_POLICY


@pytest.mark.slow
def test_both_forms_stand_in_one_table_and_either_can_be_used(tmp_path, apportion):
    write_small_corpus(tmp_path / "corpus", sessions=16)
    run = tmp_path / "run"
    done = apportion("run", config(tmp_path, TEXT.format("both")))
    assert done.returncode == 0, done.stderr
    evaluation = json.loads((run / "evaluation.json").read_text())
    names = ["rrd", "rrd-direct", "rudder", "rudder-direct", "uniform"]
    assert [row["method"] for row in evaluation["reward_models"]] == names
    assert [row["method"] for row in evaluation["decompositions"]] == ["rrd", "rudder", "uniform"]
    differences = {(row["figure"], row["method"], row["against"]) for row in evaluation["comparisons"]}
    assert ("global_loss", "rrd", "rrd-direct") in differences
    assert "rrd-direct" in (run / "report.html").read_text() and "\nrrd-direct  " in done.stdout
    assert "rrd-direct, rudder-direct: reward models trained on the objective itself" in done.stdout
    # RUDDER's network reads whole dialogues: it is scored, and there is no folder to load it from.
    models = {path.name for path in (run / "reward_models").iterdir()}
    assert models == {"rrd-seed0", "rrd-direct-seed0", "rudder-seed0", "uniform-seed0"}

    scored = tmp_path / "scores.parquet"
    assert (
        apportion(
            "policy", "score", run / "reward_models" / "rrd-direct-seed0", tmp_path / "corpus", "--out", scored
        ).returncode
        == 0
    )
    ours, theirs = pq.read_table(scored), pq.read_table(run / "scores.parquet")
    of_run = theirs.filter(pc.equal(theirs["method"], "rrd-direct")).sort_by(
        [("session_id", "ascending"), ("turn", "ascending")]
    )
    # A run's own are of embeddings in bfloat16 where the processor has it, those of `policy score` in float32.
    close = 5e-6 if torch.cpu._is_avx512_bf16_supported() else 1e-6
    assert ours["reward"].to_pylist() == pytest.approx(of_run["reward"].to_pylist(), abs=close)
    assert (
        apportion("export", tmp_path / "config.toml", "--out", tmp_path / "out", "--format", "dataset").returncode == 0
    )

    distilled = theirs.filter(pc.equal(theirs["method"], "uniform"))
    again = apportion("run", config(tmp_path, TEXT.format("direct")), "--json")
    assert again.returncode == 0, again.stderr
    evaluation = json.loads((run / "evaluation.json").read_text())
    assert [row["method"] for row in evaluation["reward_models"]] == ["rrd-direct", "rudder-direct", "uniform"]
    residuals = {
        row["method"]: row["sum_residual"]["value"]
        for row in evaluation["decompositions"]
        if row["method"] != "uniform"
    }
    assert residuals["rudder"] == pytest.approx(0, abs=1e-6) and residuals["rrd"] > 0.01
    table = pq.read_table(run / "scores.parquet")
    assert table.filter(pc.equal(table["method"], "uniform")).equals(distilled)
