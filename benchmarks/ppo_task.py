"""What both sides of benchmarks/ppo.py are given: shapes, tokenizer, prompts, and how memory is read.

Imported in two environments, so it needs nothing but torch, transformers and tokenizers.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import memory_mib

PAD, BEGIN, END = 0, 1, 2
LORA = {"r": 24, "lora_alpha": 48, "lora_dropout": 0.0, "target_modules": ["q_proj", "v_proj"]}


@dataclass(frozen=True)
class Task:
    """Model, batch and lengths of one comparison; policy, reward model and (TRL alone) value model have one shape."""

    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    vocabulary: int
    batch: int
    prompt: int
    reply: int
    ppo_epochs: int = 4
    steps: int = 2
    threads: int = 1
    device: str = "cpu"

    @property
    def dtype(self) -> str:
        return "bfloat16" if self.device == "cuda" else "float32"

    def config(self, **more: Any) -> Any:
        from transformers import LlamaConfig

        return LlamaConfig(
            vocab_size=self.vocabulary,
            hidden_size=self.hidden,
            intermediate_size=self.intermediate,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            num_key_value_heads=self.kv_heads,
            max_position_embeddings=2 * (self.prompt + self.reply),
            pad_token_id=PAD,
            bos_token_id=BEGIN,
            eos_token_id=END,
            **more,
        )

    def build(self, kind: str, seed: int, **more: Any) -> Any:
        """A model of random weights, made where and in the number format that it is used in."""
        import torch
        import transformers

        torch.manual_seed(seed)
        default = torch.get_default_dtype()
        torch.set_default_dtype(getattr(torch, self.dtype))
        try:
            with torch.device(self.device):
                model = getattr(transformers, kind)(self.config(**more))
        finally:
            torch.set_default_dtype(default)
        if kind == "LlamaForCausalLM":
            _never_end(model)
        return model

    def prompts(self) -> list[list[int]]:
        import torch

        draw = torch.Generator().manual_seed(0)
        count = self.batch * (self.steps + 1)
        rows = torch.randint(3, self.vocabulary, (count, self.prompt - 1), generator=draw).tolist()
        return [[BEGIN, *row] for row in rows]


SHAPES = {
    "dry": Task(64, 128, 2, 4, 4, 1000, batch=4, prompt=48, reply=8),
    "small": Task(512, 1408, 8, 8, 8, 16_000, batch=8, prompt=64, reply=64),
    "1b": Task(2048, 5632, 22, 32, 4, 32_000, batch=24, prompt=192, reply=64, steps=4),
    "7b": Task(4096, 11_008, 32, 32, 32, 32_000, batch=24, prompt=192, reply=64, steps=2),
}


def _never_end(policy: Any) -> None:
    """Replies of one length on both sides: padding and end mark are all but never sampled.

    A component of every embedding that is high and left alone by all layers gives these two tokens a low logit.
    """
    import torch

    with torch.no_grad():
        policy.model.embed_tokens.weight[:, 0] = 1.0
        for layer in policy.model.layers:
            layer.self_attn.o_proj.weight[0] = 0.0
            layer.mlp.down_proj.weight[0] = 0.0
        policy.lm_head.weight[:, 0] = 0.0
        policy.lm_head.weight[[PAD, END], 0] = -20.0


def tokenizer(task: Task) -> Any:
    """One token a word, so that text and tokens are each other's image."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<pad>": PAD, "<s>": BEGIN, "</s>": END, **{f"w{i}": i for i in range(3, task.vocabulary)}}
    backend = Tokenizer(models.WordLevel(words, unk_token="w3"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>", bos_token="<s>", eos_token="</s>")
    made.padding_side = "left"
    return made


class Meter:
    """Clock and memory of one process; made when everything is imported and nothing is built."""

    def __init__(self, task: Task) -> None:
        self.task = task
        # The largest memory so far is that of the imports: forget it, where the system lets us.
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        self.imports_mib = memory_mib("VmRSS")
        self.marks: list[tuple[float, float]] = []

    def mark(self) -> None:
        """Called before the first and after every step."""
        if self.task.device == "cuda":
            import torch

            torch.cuda.synchronize()
        self.marks.append((time.perf_counter(), time.process_time()))

    def tell(self, **more: object) -> None:
        """Print what was measured; the first step warms up and is not counted."""
        (wall, cpu), (last_wall, last_cpu) = self.marks[1], self.marks[-1]
        samples = self.task.batch * (len(self.marks) - 2)
        found: dict[str, object] = {
            "samples_per_s": samples / (last_wall - wall),
            "samples_per_cpu_s": samples / (last_cpu - cpu),
            "peak_mib": memory_mib("VmHWM") - self.imports_mib,
            "imports_mib": self.imports_mib,
            **more,
        }
        if self.task.device == "cuda":
            import torch

            found |= {"peak_mib": torch.cuda.max_memory_allocated() / 2**20, "device": torch.cuda.get_device_name()}
        print("MEASURED " + json.dumps(found), flush=True)


def measured(output: str) -> dict[str, Any]:
    """What a process that used a `Meter` printed."""
    line = next(line for line in output.splitlines() if line.startswith("MEASURED "))
    found: dict[str, Any] = json.loads(line.removeprefix("MEASURED "))
    return found


def worker(task: Task, *more: str) -> list[str]:
    """Arguments with which a script hands ``task`` to itself or to the peer."""
    return ["--task", json.dumps(asdict(task)), *more]


def serve(run: Callable[[Task, str], None]) -> None:
    """Main of a process that measures one side."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", required=True)
    parser.add_argument("--variant", default="")
    arguments = parser.parse_args()
    run(Task(**json.loads(arguments.task)), arguments.variant)
