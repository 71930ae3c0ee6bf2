"""Adapters: what they are put on, that they alone are trained, and what is saved of them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from apportion.foundation.errors import InputError
from apportion.reward_model.learning.dataset import Dataset, read_turns
from apportion.reward_model.learning.distillation import training_figures
from apportion.reward_model.learning.loop import Training, trained_weights
from apportion.reward_model.learning.objective import TurnMSE
from apportion.reward_model.learning.training import train
from apportion.reward_model.model import RewardModel
from apportion.reward_model.network.preflight import check_backbone
from apportion.reward_model.settings import RewardModelSettings
from tests.reward_model.test_model import random_head
from tests.reward_model.tiny import ignore, planted, save_tiny, small, values_of

EPISODES = planted(12)
LAYERS = 2 * 7
"""Of the very small LLaMA: q, k, v, o, gate, up and down in each of two."""


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("llama"), "llama")


def lora(folder: Path) -> RewardModelSettings:
    own = {"scoring": "one_pass", "max_tokens": 64, "epochs": 6, "lr_backbone": 1e-2}
    return small(folder, freeze_backbone=False, lora_rank=2, **own)


def scores(model: RewardModel) -> np.ndarray:
    return np.concatenate([model.score_episode(episode) for episode in EPISODES])


def test_adapters_and_head_alone_are_trained_saved_and_read_again(llama: Path, tmp_path: Path) -> None:
    settings = lora(llama)
    encoded = read_turns(EPISODES, None, settings)
    model = random_head(settings, 32, scale=0.25)
    frozen = random_head(small(llama, scoring="one_pass", max_tokens=64), 32, scale=0.25)
    frozen.head, frozen.config = frozen.head.one, frozen.config.model_copy(update={"beside": 0})  # Without MiniLM.
    np.testing.assert_array_equal(scores(model), scores(frozen))  # Adapters begin by changing nothing.
    before = {name: value.clone() for name, value in model.state_dict().items()}
    data = Dataset(encoded.history_windows, encoded.inputs, turn_rewards=torch.tensor(values_of(EPISODES)).double())
    training = Training(model, TurnMSE(), data, (range(10), range(10, 12)), settings, 0)
    history = train(training, ignore)
    assert history[-1].train_loss < 0.5 * history[0].train_loss
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert (
        trained
        == set(trained_weights(model))
        == {n for n, weight in model.named_parameters() if weight.grad is not None}
    )
    assert sum(".lora_" in name for name in trained) == 2 * LAYERS
    assert all(".lora_" in name or name.startswith("head.") for name in trained)
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed <= trained and sum(".lora_B" in name for name in changed) == LAYERS
    model.save_pretrained(tmp_path, training_figures(history, training))
    # No second copy of what can be had by name.
    assert load_file(tmp_path / "model.safetensors").keys() == trained
    np.testing.assert_array_equal(scores(RewardModel.from_pretrained(tmp_path)), scores(model))
    card = (tmp_path / "README.md").read_text()
    count = sum(weight.numel() for weight in trained_weights(model).values())
    assert f"| trained weights | {count} |" in card and "under trained adapters of rank 2 (in this folder)" in card


def test_a_model_without_linear_layers_is_refused_before_and_when_it_is_read(tmp_path: Path) -> None:
    settings = lora(save_tiny(tmp_path, "gpt2"))
    for refused in (lambda: check_backbone(settings), lambda: read_turns([], None, settings)):
        with pytest.raises(InputError, match=r"lora_rank: a GPT2Model has no linear layers .* Set it to 0"):
            refused()
