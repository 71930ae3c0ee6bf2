import shutil

import pytest

from tests.behaviour.command import apportion, config
from tests.behaviour.small import write_small_corpus

TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
[decompose]
method = "sentiment"
[train_reward]
epochs = 1
head_hidden_size = 8
[evaluate]
bootstrap = 100
[align]
enabled = false
"""
PUBLISHED = ("rewards.parquet", "scores.parquet", "evaluation.json", "report.html")


@pytest.mark.slow
def test_what_is_made_beside_finished_work_is_published(tmp_path):
    """Keys that a look before the run has made from what was there by then are no keys of what its workers make."""
    write_small_corpus(tmp_path / "corpus", sessions=10)
    settings = config(tmp_path, TEXT)
    assert apportion("run", settings).returncode == 0
    before = {name: (tmp_path / "run" / name).read_bytes() for name in PUBLISHED}
    for name in PUBLISHED:
        (tmp_path / "run" / name).unlink()
    units = sorted((tmp_path / "run" / "store" / "judge").iterdir())
    shutil.rmtree(units[0])
    for stage in ("rewards", "train-reward", "evaluate", "report"):
        shutil.rmtree(tmp_path / "run" / "store" / stage)
    assert apportion("run", settings).returncode == 0
    after = {name: (tmp_path / "run" / name).read_bytes() for name in PUBLISHED if (tmp_path / "run" / name).exists()}
    assert set(after) == set(before)
    assert after["rewards.parquet"] == before["rewards.parquet"]
    assert after["evaluation.json"] == before["evaluation.json"]
