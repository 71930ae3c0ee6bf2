import json
import math

import pytest
import torch
from transformers import BartModel, LlamaConfig, LlamaForCausalLM

from apportion.corpus.splits.splits import SplitEpisodes
from apportion.reward_model.learning.distillation import Lesson, train_reward_model
from apportion.reward_model.model import RewardModel
from apportion.reward_model.settings import RewardModelSettings
from apportion.rlhf.align import align
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.job import Job
from tests.reward_model.network.test_backbones import save_bart
from tests.reward_model.tiny import ignore, planted, rewards_of, splits_of, values_of
from tests.rlhf.toy import chats, small_policy, splits

EPISODES = planted(160)


def save_llama(folder):
    """A very small LLaMA with random weights and room for the preset's prompts and replies."""
    tokenizer = small_policy().tokenizer
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=4096, pad_token_id=tokenizer.pad_token_id, bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A reward model by the preset but for the folder of the backbone and one epoch; its steps, and what they took."""
    folder = tmp_path_factory.mktemp("paper")
    settings = RewardModelSettings(preset="paper", backbone=str(save_bart(folder / "bart")), epochs=1)
    assert [name for name, _, _ in settings.departures()] == ["backbone"]
    rates: list[tuple[float, ...]] = []
    step = torch.optim.AdamW.step

    def counted(optimizer, *arguments, **named):
        rates.append(tuple(group["lr"] for group in optimizer.param_groups))
        return step(optimizer, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.AdamW, "step", counted)
        splits = SplitEpisodes(EPISODES, splits_of(EPISODES, 0.8, 0.0))
        lesson = Lesson(rewards_of(EPISODES, values_of(EPISODES)), splits)
        train_reward_model(lesson, settings, 0, folder / "model", ignore)
    return folder, rates


def test_bart_is_trained_whole_in_batches_of_160_turns(trained):
    folder, rates = trained
    turns = sum(len(episode.target_turns) for episode in EPISODES[:128])
    assert set(rates) == {(5e-6, 5e-6)} and 3 <= math.ceil(turns / 160) <= len(rates)
    model = RewardModel.from_pretrained(folder / "model")
    assert type(model.trained_backbone.encoder).__name__ == "BartModel"
    assert all(torch.isfinite(torch.tensor(model.score_windows([("A : train ?", "yes"), ("", "no")]).reward)))
    before = BartModel.from_pretrained(folder / "bart").state_dict()
    moved = {
        name for name, weight in model.trained_backbone.encoder.state_dict().items() if not weight.equal(before[name])
    }
    layers = {name for name in before if "layers." in name and "k_proj.bias" not in name}  # That has no gradient.
    assert layers and layers <= moved and "shared.weight" in moved


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["paper", "paper-kl"])
def test_llama_is_adapted_by_either_reading_of_gamma(trained, tmp_path, preset):
    values = {"preset": preset, "policy": str(save_llama(tmp_path / "llama")), "steps": 3, "samples": 1}
    settings = AlignSettings.model_validate(values)
    assert [name for name, _, _ in settings.departures()] == ["policy", "steps"]
    dealt = splits(train=["chat-0"], policy=["chat-1", "chat-2"], test=["chat-3"])
    history, _ = align(Job(chats(4), dealt, trained[0] / "model", settings, 0, tmp_path / "policy"))
    rows = history.to_pylist()
    assert {row["step"] for row in rows} >= {1, 2, 3} and all(math.isfinite(row["value"]) for row in rows)
    weights = [row["value"] for row in rows if row["metric"] == "beta"]
    first = {"paper": 0.2, "paper-kl": 0.05}[preset]
    assert weights[0] == pytest.approx(first, rel=0.01) and len(set(weights)) == 3  # It adapts.
    adapter = json.loads((tmp_path / "policy" / "adapter_config.json").read_text())
    assert (adapter["r"], adapter["lora_alpha"], sorted(adapter["target_modules"])) == (24, 48, ["q_proj", "v_proj"])
