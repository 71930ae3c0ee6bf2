"""Claim: one pass over a dialogue is many times faster than windows of 1,024 tokens, and than each prefix anew.

Run: python -m benchmarks.scoring [--layers 2] [--hidden 512]

A dialogue of 160 turns of 20 tokens, scored by reward models on a LLaMA of random weights made here. With 160 scored
turns at least 50 x fewer seconds than reading each prefix anew and 20 x fewer than windows of 1,024 tokens; with 80 of
160 scored 30 x and 12 x. `one_pass` and `windowed` are what `RewardModel.score_episode` does; a prefix is scored by the
same one-pass model as a dialogue of its own, so that its rewards have to be the same to 1e-5. Ratios are of wall
seconds; `cpu_ratio` of the seconds that this process computed, which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.measure import tell

TURNS, TOKENS, WINDOW = 160, 20, 1024
BARS = {160: (50.0, 20.0), 80: (30.0, 12.0)}
WORDS = [f"w{i}" for i in range(500)]


def save_backbone(folder: Path, layers: int, hidden: int) -> None:
    """A LLaMA of random weights, and a tokenizer with one token a word."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import AutoModel, LlamaConfig, PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate(["<unk>", "<s>", "</s>", "A", "B", ":", *WORDS])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 64,
        num_key_value_heads=hidden // 64,
        max_position_embeddings=8192,
    )
    torch.manual_seed(0)
    AutoModel.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def dialogue(scored: int):
    """160 turns of 20 tokens (mark and colon count), of which the target says all or every second one."""
    from apportion.corpus.session import Episode, Rating, Turn

    rng = np.random.default_rng(0)
    speakers = ["bot"] if scored == TURNS else ["user", "bot"]
    turns = [Turn(i, speakers[i % len(speakers)], " ".join(rng.choice(WORDS, TOKENS - 2))) for i in range(TURNS)]
    return Episode("benchmark", tuple(turns), Rating("user", "bot", "score", 0.0, 0.0, 1.0))


def model(backbone: Path, hidden: int, scoring: str, max_tokens: int):
    import torch

    from apportion.reward_model.model import RewardModel
    from apportion.reward_model.settings import RewardModelSettings

    settings = RewardModelSettings(
        backbone=str(backbone), scoring=scoring, max_tokens=max_tokens, history_turns=WINDOW // TOKENS + 1
    )
    made = RewardModel.new(settings, hidden * (1 if scoring == "one_pass" else 2), 0)
    torch.nn.init.normal_(made.head.last_weight)  # A new head gives zeros, and those are always equal.
    return made


def seconds(work: Callable[[], np.ndarray], times: int = 1) -> tuple[np.ndarray, float, float]:
    """The result, median wall seconds and median CPU seconds."""
    walls, cpus = [], []
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        found = work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return found, float(np.median(walls)), float(np.median(cpus))


def prefixes(one_pass, episode) -> np.ndarray:
    """Each scored turn by reading everything up to it anew."""
    return np.array(
        [one_pass.score_episode(replace(episode, turns=episode.turns[: p + 1]))[-1] for p in episode.target_positions]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=512, help="a multiple of 64")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory() as folder:
        save_backbone(Path(folder), arguments.layers, arguments.hidden)
        one_pass = model(Path(folder), arguments.hidden, "one_pass", 8192)
        windowed = model(Path(folder), arguments.hidden, "windowed", WINDOW)
        shape = {"layers": arguments.layers, "hidden": arguments.hidden, "threads": arguments.threads}
        for scored, (bar_prefix, bar_window) in BARS.items():
            episode = dialogue(scored)
            for warm in (one_pass, windowed):
                warm.score_episode(replace(episode, turns=episode.turns[:4]))
            rewards, wall, cpu = seconds(lambda e=episode: one_pass.score_episode(e), times=5)
            name = f"{scored} of {TURNS} turns scored"
            tell(f"one_pass, {name}", wall, "s", cpu_s=round(cpu, 3), **shape)
            peers = {
                "prefix re-encoding": (bar_prefix, lambda e=episode: prefixes(one_pass, e)),
                f"windows of {WINDOW:,} tokens": (bar_window, lambda e=episode: windowed.score_episode(e)),
            }
            for peer, (bar, work) in peers.items():
                found, its_wall, its_cpu = seconds(work)
                more = {"ratio": round(its_wall / wall, 1), "cpu_ratio": round(its_cpu / cpu, 1), "bar": bar}
                if peer == "prefix re-encoding":
                    more["largest_difference"] = float(f"{np.abs(found - rewards).max():.2g}")
                    more["rewards_sd"] = round(float(np.std(rewards)), 4)
                tell(f"{peer}, {name}", its_wall, "s", cpu_s=round(its_cpu, 3), **more)
