import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import BartConfig, BartModel, GPT2Config, LlamaConfig, LlamaForCausalLM, OPTConfig

from apportion.reward_model.network.backbones import frozen_backbone
from apportion.rlhf.policy.lora import attach_adapter, trained_weights
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.settings import PAPER, AlignSettings
from apportion.rlhf.training.memory_estimate import BART_LARGE, LLAMA_2_7B, Reader, Shape, estimate, table

DOCS = Path(__file__).resolve().parents[3] / "docs" / "evidence" / "alignment.md"
MARGIN = 0.2
"""What docs/evidence/alignment.md says that the estimate may be off by."""


def test_the_sizes_of_other_families():
    sizes = Shape.of(GPT2Config(n_embd=64, n_head=4, n_layer=3, vocab_size=99))
    assert sizes == Shape(64, 256, 3, 4, 4, 99, tied=True) and sizes.outer_weights == 100 * 64
    opt = Shape.of(OPTConfig(hidden_size=64, ffn_dim=80, num_attention_heads=4, num_hidden_layers=2, vocab_size=99))
    assert opt.intermediate == 80 and opt.adapter_weights(AlignSettings(lora=LoraSettings(targets=("fc1",)))) > 0


# A policy of 8 million weights, so that tensors rather than libraries are what the process holds.
SCRIPT = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from transformers import LlamaConfig, LlamaForCausalLM
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.training.memory_estimate import Shape, estimate
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.ppo.ppo import PPO
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.settings import AlignSettings
from tests.rlhf.toy import small_policy

def held(name):
    return int(Path("/proc/self/status").read_text().split(name + ":")[1].split()[0]) * 1024

def by_length(contexts, histories, replies):
    return [float(len(reply)) for reply in replies]

def train(policy, settings, contexts):
    model = attach_adapter(policy.model, settings.adapter)
    ppo = PPO(policy, model, contexts, by_length, settings)
    for step in range(1, int(sys.argv[2]) + 1):
        ppo.step(step)

settings = AlignSettings(
    policy="random", batch_size=32, mini_batch_size=32, ppo_epochs=1, max_context_tokens=96, max_new_tokens=16,
    lora=LoraSettings(r=8, alpha=16), gradient_checkpointing=sys.argv[1] == "checkpointing",
)
contexts = [DialogueContext("s", i, (), (1, *range(3, 98)), "") for i in range(32)]
# What the libraries load when they are first used is not the policy's.
small = small_policy()
train(small, settings, contexts)
Path("/proc/self/clear_refs").write_text("5")
start = held("VmRSS")
config = LlamaConfig(
    vocab_size=4000, hidden_size=256, intermediate_size=704, num_hidden_layers=8, num_attention_heads=4,
    num_key_value_heads=4,
)
train(Policy.of("random", LlamaForCausalLM(config), small.tokenizer), settings, contexts)
print("MEASURED", held("VmHWM") - start, estimate(Shape.of(config), settings).peak)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory as Linux tells it")
@pytest.mark.parametrize(
    ("how", "steps"),
    [
        ("plain", 1),
        pytest.param("plain", 2, marks=pytest.mark.slow),
        pytest.param("checkpointing", 2, marks=pytest.mark.slow),
    ],
)
def test_the_estimate_is_near_what_a_process_takes(how: str, steps: int) -> None:
    # Freed memory leaves the process at once, so that its peak is what was in use.
    freeing = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", SCRIPT, how, str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, env=freeing, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("MEASURED"))
    measured, expected = (float(part) for part in line.split()[1:])
    assert expected == pytest.approx(measured, rel=MARGIN), f"measured {measured / 1e6:.0f} MB"


def test_weights_are_counted_as_the_model_has_them() -> None:
    config = LlamaConfig(
        vocab_size=100, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    shape = Shape.of(config)
    assert shape.layers * shape.layer_weights + shape.outer_weights == model.num_parameters()
    lora = LoraSettings(r=3, alpha=6, targets=("q_proj", "k_proj", "v_proj", "o_proj", "up_proj", "down_proj"))
    adapted = attach_adapter(model, lora)
    head = 32 + 1
    assert shape.adapter_weights(AlignSettings(lora=lora)) == trained_weights(adapted) + head


def test_a_reward_model_s_weights_are_counted_as_it_has_them_and_add_to_the_peak() -> None:
    with torch.device("meta"):
        bart = BartModel(BartConfig()).get_encoder()
    assert BART_LARGE.weights == bart.num_parameters()
    minilm = frozen_backbone("minilm", 128).encoder
    assert Reader(384, 1536, 6, 30_522, 512 + 2, 128).weights == sum(weight.numel() for weight in minilm.parameters())
    without, counted = estimate(LLAMA_2_7B, PAPER), estimate(LLAMA_2_7B, PAPER, BART_LARGE)
    assert counted.peak == without.peak + 4 * BART_LARGE.weights and 0 < counted.scoring < counted.update


def test_llama_2_7b_has_the_papers_numbers() -> None:
    assert LLAMA_2_7B.layers * LLAMA_2_7B.layer_weights + LLAMA_2_7B.outer_weights == 6_738_415_616
    assert LLAMA_2_7B.adapter_weights(PAPER) == 12_582_912 + 4096 + 1


def test_what_saves_memory_lowers_the_estimate() -> None:
    plain = PAPER.model_copy(update={"device": "cuda", "dtype": "bfloat16", "gradient_checkpointing": False})
    peak = estimate(LLAMA_2_7B, plain).peak
    for saver in (
        {"gradient_checkpointing": True},
        {"micro_batch_size": 4},
        {"processes": 4},
        {"max_context_tokens": 64},
    ):
        assert estimate(LLAMA_2_7B, plain.model_copy(update=saver)).peak < peak, saver
    whole = plain.model_copy(update={"processes": 4})
    sharded = whole.model_copy(update={"accelerate": "fsdp"})
    assert estimate(LLAMA_2_7B, sharded).weights < 0.4 * estimate(LLAMA_2_7B, whole).weights
    assert estimate(LLAMA_2_7B, whole.model_copy(update={"dtype": "float32"})).weights == 4 * 6_738_415_616


def test_the_page_shows_the_table_as_it_is_computed() -> None:
    page = DOCS.read_text(encoding="utf-8")
    assert all(line in page for line in table())
    assert f"{MARGIN:.0%}" in page
