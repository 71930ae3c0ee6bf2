"""PPO's memory on one card beside what `rlhf.training.memory_estimate` says: LLaMA-2-7B's shape, BART-large's encoder.

    python -m benchmarks.card_memory [--rows paper,short] [--device cuda] [--shape 7b]

The rows of docs/evidence/alignment.md that one card of 80 GB holds, a step of PPO each: random weights in bfloat16,
adapters, the reward model on the card, prompts and replies of full length. Told are the most that PyTorch's tensors
took at once (what the estimate counts), what its allocator had reserved for it (the rest of what the card shows is
CUDA's own), and the seconds of the step. There is no peer. `--device cpu --shape small` tries the script where there is
no card: there it measures nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import BartConfig, BartModel, PreTrainedTokenizerFast

from apportion.reward_model.model import RewardModel
from apportion.reward_model.network.backbones import frozen_backbone
from apportion.reward_model.settings import RewardModelSettings
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.ppo.ppo import PPO
from apportion.rlhf.settings import PAPER, AlarmSettings, AlignSettings
from apportion.rlhf.training.memory_estimate import BART_LARGE, GB, Reader, Shape, estimate
from benchmarks.measure import tell
from benchmarks.ppo_task import SHAPES, Task, tokenizer

ROWS: dict[str, dict[str, Any]] = {
    "short": {"max_context_tokens": 192, "max_new_tokens": 64},
    "paper": {},
    "micro_batch_size": {"gradient_checkpointing": False, "micro_batch_size": 4},
}
"""What differs from the preset `paper`, as in the table of docs/evidence/alignment.md."""
SMALL = {"batch_size": 4, "mini_batch_size": 4, "max_context_tokens": 48, "max_new_tokens": 8}
TINY_READER = Reader(64, 128, 2, 1000, 128 + 2, 128)
NO_ALARMS = AlarmSettings(max_kl=0, length_factor=0, repetition_rise=0, self_similarity_rise=0, entropy_share=0)


def reward_model(folder: Path, reader: Reader, words: PreTrainedTokenizerFast, device: str) -> RewardModel:
    """An untrained reward model over BART's shape with random weights, its backbone on ``device``."""
    shape = {f"{side}_{part}": value for side in ("encoder", "decoder")
             for part, value in (("layers", reader.layers), ("ffn_dim", reader.intermediate))}  # fmt: skip
    config = BartConfig(
        vocab_size=max(reader.vocabulary, len(words)), d_model=reader.hidden,
        max_position_embeddings=reader.tokens, pad_token_id=words.pad_token_id, **shape,
    )  # fmt: skip
    torch.manual_seed(0)
    BartModel(config).save_pretrained(folder)
    words.save_pretrained(folder)
    settings = RewardModelSettings(backbone=str(folder), max_tokens=reader.tokens, device=device)
    width = frozen_backbone(settings.backbone, settings.max_tokens, settings.scoring).width
    return RewardModel.new(settings, width, 0).place(device)


def settings_of(row: str, task: Task) -> AlignSettings:
    """The preset `paper` with a row's changes."""
    small = SMALL if task.device == "cpu" else {}
    changes = {"policy": "random", "device": task.device, "dtype": task.dtype, "alarms": NO_ALARMS, "steps": 1}
    return PAPER.model_copy(update={**changes, **ROWS[row], **small})


def step(task: Task, settings: AlignSettings, model: RewardModel, words: PreTrainedTokenizerFast) -> float:
    """Seconds of one step of PPO, replies of full length."""
    task = replace(task, batch=settings.batch_size, prompt=settings.max_context_tokens, reply=settings.max_new_tokens)
    policy = Policy.of("random", task.build("LlamaForCausalLM", 0), words)
    prompts = task.prompts()[: settings.batch_size]
    contexts = [DialogueContext(f"s{i}", 0, (), tuple(one), words.decode(one)) for i, one in enumerate(prompts)]

    def reward(contexts: Any, histories: Any, replies: Any) -> list[float]:
        return model.score_windows(list(zip(histories, replies, strict=True))).reward.tolist()

    ppo = PPO(policy, attach_adapter(policy.model, settings.adapter), contexts, reward, settings)
    begun = time.perf_counter()
    ppo.step(1)
    if task.device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--shape", choices=list(SHAPES), default="7b")
    arguments = parser.parse_args()
    if unknown := [row for row in arguments.rows.split(",") if row not in ROWS]:
        parser.error(f"--rows {unknown[0]}: of {', '.join(ROWS)}")
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch sees no CUDA device here. --device cpu --shape small tries the script")
    task = replace(SHAPES[arguments.shape], device=arguments.device)
    reader, words = (BART_LARGE if arguments.device == "cuda" else TINY_READER), tokenizer(task)
    with tempfile.TemporaryDirectory() as folder:
        model = reward_model(Path(folder), reader, words, arguments.device)
        for row in arguments.rows.split(","):
            settings = settings_of(row, task)
            expected = estimate(Shape.of(task.config()), settings, reader)
            if task.device == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            seconds = step(task, settings, model, words)
            if task.device == "cpu":
                print(f"{row}: {seconds:.1f} s; memory is read on a card alone", file=sys.stderr)
                continue
            taken = torch.cuda.max_memory_allocated() / GB
            tell(f"memory of PPO, {arguments.shape}, {row}", taken, "GB", estimate=round(expected.peak / GB, 1),
                 ratio=round(taken / (expected.peak / GB), 3), reserved=round(torch.cuda.max_memory_reserved() / GB, 1),
                 seconds_of_step=round(seconds, 1), device=torch.cuda.get_device_name())  # fmt: skip


if __name__ == "__main__":
    main()
