"""Real chats with satisfaction scores: 1,000 imported, 60 of them to reward model, evaluation and PPO."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from apportion.reward_model.model import RewardModel
from tests.behaviour.command import apportion, config
from tests.shared import shared

CONFIG = """
corpus = "corpus"
output = "run"
[run]
limit = 60
[decompose]
method = "rrd"
compare = ["sentiment"]
[train_reward]
epochs = 1
[align]
reward_method = "sentiment"
steps = 3
[align.tiny]
warmup_steps = 20
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    source = shared("data/uss/SGD.txt.gz")
    folder = tmp_path_factory.mktemp("sgd")
    done = apportion("import", "uss", source, folder / "corpus")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_the_whole_chain(folder):
    done = apportion("run", config(folder, CONFIG), "--json")
    assert done.returncode == 0, done.stderr
    run = folder / "run"
    rewards = pq.read_table(run / "rewards.parquet")
    assert pc.count_distinct(rewards["session_id"]).as_py() == 60
    evaluation = json.loads((run / "evaluation.json").read_text())
    text = json.dumps(evaluation)
    assert all(name in text for name in ("sentiment", "rrd", "Mean", "Mode"))
    model = RewardModel.from_pretrained(run / "reward_models" / "rrd-seed0")
    messages = [{"role": "user", "content": "Find me a table."}, {"role": "assistant", "content": "Booked for eight."}]
    assert len(model.score(messages)) == 1
    assert (run / "policy" / "adapter_model.safetensors").is_file()
    assert "<html" in (run / "report.html").read_text()
