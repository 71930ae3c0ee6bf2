"""A backbone is looked at before work begins, without its weights and, where it is bundled, without torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import BartModel

from apportion.foundation.errors import InputError
from apportion.reward_model.network.preflight import check_backbone
from apportion.reward_model.settings import RewardModelSettings
from tests.reward_model.tiny import CONFIGS, save_tiny, small, tokenizer

ROOT = Path(__file__).resolve().parents[3]
PAPER = RewardModelSettings(preset="paper")
BUNDLED = """
import sys
from apportion.reward_model.network.preflight import check_backbone
from apportion.reward_model.settings import RewardModelSettings
from apportion.rlhf.preflight import check_alignment
from apportion.rlhf.settings import AlignSettings
check_backbone(RewardModelSettings())
check_alignment(AlignSettings())
print(sorted({"torch", "transformers", "peft"} & set(sys.modules)))
"""


def save_bart(folder: Path) -> Path:
    """A very small BART with random weights and as many positions as the real one."""
    config = CONFIGS["bart"]()
    config.max_position_embeddings = 1024
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        BartModel(config).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def test_a_backbone_that_can_be_had_passes_without_its_weights(tmp_path, monkeypatch):
    check_backbone(RewardModelSettings())
    monkeypatch.setattr(torch.nn.Module, "load_state_dict", None)  # No weights are read.
    check_backbone(RewardModelSettings(preset="paper", backbone=str(save_bart(tmp_path))))


def test_a_backbone_that_cannot_be_had_is_told_without_its_weights(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match=r"backbone 'facebook/bart-large' cannot be loaded .* 'minilm', a folder"):
        check_backbone(PAPER)
    pickled = save_tiny(tmp_path / "pickled", "bert")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(InputError, match="no weights as safetensors"):
        check_backbone(small(pickled))
    with pytest.raises(InputError, match=r"max_tokens = 1024: the backbone .* reads up to 64 tokens"):
        check_backbone(RewardModelSettings(preset="paper", backbone=str(save_tiny(tmp_path / "short", "bart"))))
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="torch sees no CUDA device"):
            check_backbone(RewardModelSettings(device="cuda"))


def test_bundled_models_are_checked_without_seconds_of_imports():
    done = subprocess.run([sys.executable, "-c", BUNDLED], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
