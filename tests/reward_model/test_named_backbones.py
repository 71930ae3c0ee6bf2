"""Backbones by their names on the Hugging Face hub; a cache that the test has filled stands for the hub."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import BartForConditionalGeneration

from apportion.foundation.errors import InputError
from apportion.reward_model.model import RewardModel
from apportion.reward_model.network.backbones import load_backbone
from apportion.reward_model.settings import RewardModelSettings
from tests.reward_model.tiny import CONFIGS, tokenizer

NAMES = ("facebook/bart-large", "kabita-choudhary/finetuned-bart-for-conversation-summary")
REVISION = "0" * 40


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub's client, which has no network."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


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


def test_the_papers_backbones_are_loaded_by_name_as_summarizers_are_saved(cache: Path) -> None:
    sums = {name: stand_in(cache, name, seed) for seed, name in enumerate(NAMES)}
    for name in NAMES:
        settings = RewardModelSettings(backbone=name, max_tokens=32, freeze_backbone=False)
        backbone = load_backbone(settings.backbone, settings.max_tokens)
        model = RewardModel.new(settings, backbone.width, 0, backbone)
        assert type(backbone.encoder).__name__ == "BartEncoder"
        assert float(next(iter(backbone.encoder.state_dict().values())).sum()) == pytest.approx(sums[name])
        assert model.score_windows([("A : train ?", "yes")])[0] == 0.0  # The untrained head gives the mean.
    assert sums[NAMES[0]] != pytest.approx(sums[NAMES[1]])


@pytest.mark.usefixtures("cache")
def test_a_name_that_the_hub_does_not_give_is_named() -> None:
    with pytest.raises(InputError, match=f"backbone '{NAMES[0]}'"):
        load_backbone(NAMES[0], 32)
