"""One card: PPO's tokens a second beside what its products allow, its memory beside what we tell before the first step.

    python -m benchmarks.card [--shapes 1b,7b] [--rows short,paper] [--device cuda]
    python -m benchmarks.card --runs FOLDER ...

Random weights in bfloat16, adapters, BART-large's encoder as the reward model on the card, prompts and replies of full
length; the rows of docs/evidence/alignment.md that one card of 80 GB holds. Of two steps the first warms up and the
second is timed. The limit is what a plain product of two large bfloat16 matrices reaches in the same process. Memory is
the most that PyTorch's tensors took at once (what `rlhf.training.memory_estimate` counts), and what its allocator had
reserved for it. There is no peer. ``--runs``: what runs of `apportion run` have reached, by reward, gold and best-of-n.
`--device cpu --shapes dry` tries the script: no memory is read there. benchmarks/gpu.sh runs all of it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from pyarrow import parquet
from tokenizers.processors import TemplateProcessing
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
from benchmarks.ppo import flops_per_sample, matmul_flops
from benchmarks.ppo_task import END, SHAPES, Task, tokenizer

ROWS: dict[str, dict[str, Any]] = {
    "short": {"max_context_tokens": 192, "max_new_tokens": 64},
    "paper": {},
    "micro_batch_size": {"gradient_checkpointing": False, "micro_batch_size": 4},
}
"""What differs from the preset `paper`, as in the table of docs/evidence/alignment.md."""
SMALL = {"batch_size": 4, "mini_batch_size": 4, "max_context_tokens": 48, "max_new_tokens": 8}
TINY_READER = Reader(64, 128, 2, 1000, 128 + 2, 128)
NO_ALARMS = AlarmSettings(max_kl=0, length_factor=0, repetition_rise=0, self_similarity_rise=0, entropy_share=0)


def reward_model(folder: Path, reader: Reader, task: Task) -> RewardModel:
    """An untrained reward model over BART's shape with random weights, its backbone where ``task`` is."""
    words = tokenizer(task)
    # As BART's own does: what its decoder reads last is the end.
    end = TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", END)])
    words.backend_tokenizer.post_processor = end
    shape = {f"{side}_{part}": value for side in ("encoder", "decoder")
             for part, value in (("layers", reader.layers), ("ffn_dim", reader.intermediate))}  # fmt: skip
    config = BartConfig(
        vocab_size=max(reader.vocabulary, len(words)), d_model=reader.hidden,
        max_position_embeddings=reader.tokens, pad_token_id=words.pad_token_id, **shape,
    )  # fmt: skip
    torch.manual_seed(0)
    BartModel(config).save_pretrained(folder)
    words.save_pretrained(folder)
    settings = RewardModelSettings(backbone=str(folder), max_tokens=reader.tokens, device=task.device)
    width = frozen_backbone(settings.backbone, settings.max_tokens, settings.scoring).width
    return RewardModel.new(settings, width, 0).place(task.device)


def settings_of(row: str, task: Task) -> AlignSettings:
    """The preset `paper` with a row's changes."""
    small = SMALL if task.device == "cpu" else {}
    changes = {"policy": "random", "device": task.device, "dtype": task.dtype, "alarms": NO_ALARMS, "steps": 2}
    return PAPER.model_copy(update={**changes, **ROWS[row], **small})


def seconds_of_step(task: Task, settings: AlignSettings, model: RewardModel, words: PreTrainedTokenizerFast) -> float:
    """Of PPO's second step, replies of full length."""
    policy = Policy.of("random", task.build("LlamaForCausalLM", 0), words)
    prompts = task.prompts()[: settings.batch_size]
    contexts = [DialogueContext(f"s{i}", 0, (), tuple(one), words.decode(one)) for i, one in enumerate(prompts)]

    def reward(contexts: Any, histories: Any, replies: Any) -> list[float]:
        return model.score_windows(list(zip(histories, replies, strict=True))).reward.tolist()

    ppo = PPO(policy, attach_adapter(policy.model, settings.adapter), contexts, reward, settings)
    for number in (1, 2):
        begun = time.perf_counter()
        ppo.step(number)
        if task.device == "cuda":
            torch.cuda.synchronize()
    return time.perf_counter() - begun


def measure(shape: str, row: str, model: RewardModel, reader: Reader, device: str) -> None:
    """Speed and, on a card, memory of one shape and row, a line each."""
    task = replace(SHAPES[shape], device=device)
    settings, words = settings_of(row, task), tokenizer(task)
    task = replace(
        task, batch=settings.batch_size, prompt=settings.max_context_tokens, reply=settings.max_new_tokens,
        ppo_epochs=settings.ppo_epochs,
    )  # fmt: skip
    expected = estimate(Shape.of(task.config()), settings, reader).peak / GB
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    seconds = seconds_of_step(task, settings, model, words)
    where = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    if device == "cuda":
        taken = torch.cuda.max_memory_allocated() / GB
        reserved = round(torch.cuda.max_memory_reserved() / GB, 1)
        tell(f"memory of PPO, {shape}, {row}", taken, "GB", estimate=round(expected, 1),
             ratio=round(taken / expected, 3), reserved=reserved, device=where)  # fmt: skip
    tokens = task.batch * (task.prompt + task.reply)
    work = flops_per_sample(task, 3, 3 if settings.gradient_checkpointing else 2) * task.batch
    limit = matmul_flops(task)
    tell(f"speed of PPO, {shape}, {row}", tokens / seconds, "tokens/s", seconds_of_step=round(seconds, 2),
         limit_by_measured_products=round(limit / work * tokens, 1), share=round(work / limit / seconds, 3),
         matmul_tflops=round(limit / 1e12, 1), estimate_gb=round(expected, 2), device=where)  # fmt: skip


def told(run: Path) -> None:
    """What the policy of one run has reached."""
    found: dict[str, list[float]] = {}
    for row in parquet.read_table(run / "histories.parquet").sort_by("step").to_pylist():
        if row["stage"] == "align":
            found.setdefault(row["metric"], []).append(row["value"])
    gold = json.loads((run / "policy" / "gold.json").read_text(encoding="utf-8"))
    last = {name: round(found[name][-1], 4) for name in ("kl", "response_tokens", "sameness", "entropy")}
    tell(f"reward of {run.name}", found["reward"][-1], "last step", first=round(found["reward"][0], 4),
         steps=len(found["reward"]), **last)  # fmt: skip
    if "gain" not in gold:
        raise SystemExit(f"{run}: {gold['verdict']}")
    tell(f"gold of {run.name}", gold["gain"]["value"], "sd of the start's replies", **gold)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--shapes", default="1b,7b")
    parser.add_argument("--runs", type=Path, nargs="+", help="output folders of finished runs, told in place of shapes")
    arguments = parser.parse_args()
    for name, known in (("rows", tuple(ROWS)), ("shapes", tuple(SHAPES))):
        if unknown := [one for one in getattr(arguments, name).split(",") if one not in known]:
            parser.error(f"--{name} {unknown[0]}: of {', '.join(known)}")
    if arguments.runs:
        for run in arguments.runs:
            told(run)
        return
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch sees no CUDA device here. --device cpu --shapes dry tries the script")
    reader = BART_LARGE if arguments.device == "cuda" else TINY_READER
    for shape in arguments.shapes.split(","):
        with tempfile.TemporaryDirectory() as folder:
            task = replace(SHAPES[shape], device=arguments.device)
            model = reward_model(Path(folder), reader, task)
            for row in arguments.rows.split(","):
                measure(shape, row, model, reader, arguments.device)


if __name__ == "__main__":
    main()
