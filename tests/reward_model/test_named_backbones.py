"""Backbones by their names on the Hugging Face hub; a cache that the test has filled stands for the hub."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import BartForConditionalGeneration

from tests.behaviour.command import environment
from tests.reward_model.tiny import CONFIGS, tokenizer

NAMES = ("facebook/bart-large", "kabita-choudhary/finetuned-bart-for-conversation-summary")
REVISION = "0" * 40
LOAD = """
import json, sys
from reward_model.model import RewardModel
from reward_model.backbones import load_backbone
from reward_model.settings import RewardModelSettings

found = {}
for name in sys.argv[2:]:
    settings = RewardModelSettings(backbone=name, max_tokens=32, freeze_backbone=False)
    backbone = load_backbone(settings.backbone, settings.max_tokens)
    model = RewardModel.new(settings, backbone.width, 0, backbone)
    weight = next(iter(backbone.encoder.state_dict().values()))
    reward = model.score_windows([("A : train ?", "yes")])[0]
    found[name] = [type(backbone.encoder).__name__, float(weight.sum()), reward]
json.dump(found, open(sys.argv[1], "w"))
"""


def stand_in(cache: Path, name: str, seed: int) -> float:
    """A very small BART with random weights, where the hub's client keeps what it has fetched; the sum of a weight."""
    folder = cache / f"models--{name.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(REVISION)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = BartForConditionalGeneration(CONFIGS["bart"]())
    model.save_pretrained(folder / "snapshots" / REVISION)
    tokenizer().save_pretrained(folder / "snapshots" / REVISION)
    return float(next(iter(model.get_encoder().state_dict().values())).sum())


def load(tmp_path: Path, *names: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LOAD, str(tmp_path / "found.json"), *names]
    return subprocess.run(command, env=environment(HF_HUB_CACHE=str(tmp_path / "hub")), capture_output=True, text=True)


def test_the_papers_backbones_are_loaded_by_name_as_summarizers_are_saved(tmp_path: Path) -> None:
    sums = {name: stand_in(tmp_path / "hub", name, seed) for seed, name in enumerate(NAMES)}
    done = load(tmp_path, *NAMES)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    for name in NAMES:
        kind, total, reward = found[name]
        assert kind == "BartEncoder" and reward == 0.0  # The untrained head gives the mean.
        assert total == pytest.approx(sums[name])
    assert sums[NAMES[0]] != pytest.approx(sums[NAMES[1]])


def test_a_name_that_the_hub_does_not_give_is_named(tmp_path: Path) -> None:
    done = load(tmp_path, NAMES[0])
    assert done.returncode != 0 and f"backbone '{NAMES[0]}'" in done.stderr
