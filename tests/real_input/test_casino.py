"""Negotiations of real people, with how satisfied they were, from import to reward model, policy and report."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.reward_model.model import RewardModel
from tests.behaviour.command import apportion, config
from tests.shared import shared

CONFIG = """
corpus = "corpus"
output = "run"
rating = "{rating}"
[run]
limit = 24
workers = 1
[decompose]
method = "uniform"
compare = ["sentiment"]
[train_reward]
epochs = 1
[evaluate]
bootstrap = 100
[align]
reward_method = "sentiment"
steps = 1
batch_size = 2
mini_batch_size = 2
max_new_tokens = 4
samples = 1
max_context_tokens = 1000
[align.tiny]
warmup_steps = 1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = shared("data/casino/casino_test.json.gz")
    folder = tmp_path_factory.mktemp("casino")
    done = apportion("import", "casino", source, folder / "corpus")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "licence: CC BY 4.0" in done.stdout
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("rating", ["satisfaction", "points"])
def test_the_whole_chain(folder: Path, rating: str) -> None:
    done = apportion("run", config(folder, CONFIG.format(rating=rating)), "--json")
    assert done.returncode == 0, done.stderr
    run = folder / "run"
    rewards = pq.read_table(run / "rewards.parquet")
    assert pc.count_distinct(rewards["session_id"]).as_py() == 24
    assert set(rewards["name"].to_pylist()) == {rating}
    # Both people are credited: by each other for satisfaction, by the rules for points.
    raters = set(rewards["rater"].to_pylist())
    assert raters == ({"mturk_agent_1", "mturk_agent_2"} if rating == "satisfaction" else {"environment"})
    text = json.dumps(json.loads((run / "evaluation.json").read_text()))
    assert all(name in text for name in ("sentiment", "uniform", "Mean", "Mode"))
    model = RewardModel.from_pretrained(run / "reward_models" / "sentiment-seed0")
    turns = Corpus.open(folder / "corpus").session(rewards["session_id"][0].as_py()).turns
    said = [{"role": ("user", "assistant")[number % 2], "content": turn.text} for number, turn in enumerate(turns[:2])]
    assert len(model.score(said)) == 1
    page = (run / "report.html").read_text()
    assert "<html" in page and "[Submit-Deal]" in page
