"""A Refiner learns on a scripted game, with a Measurer that has read it: Table 6's shape, lengths, and the curve.

The game (`tests/rlhf/stackelberg/round_table.py`): player 1 accuses player 3, player 2 answers by a rule of its role,
which player 1 does not know. The Measurer and another follower are small language models that have read other games of
it; the policy is `tiny`, warmed up on what leaders said. Each seed has games, models and draws of its own.

    python -m benchmarks.stackelberg learning --work FOLDER --seeds 0,1,2
    python -m benchmarks.stackelberg length --work FOLDER --seeds 0      # the same with a penalty from 10 words on

Killed, the same command goes on. What it prints is in docs/evidence/games.md. The followers' answers are sampled from
the other model, and, apart, from the game's own rule.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from apportion.rlhf.policy.folder import base_of, open_policy, read_window
from apportion.rlhf.policy_settings import Placement, Window
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.stackelberg.dialogues import follower_episodes
from apportion.rlhf.stackelberg.instances.instance import Instance, read_instances, write_instances
from apportion.rlhf.stackelberg.persuasion_eval.table import (
    PersuasionQuery,
    paired_interval,
    persuade,
    persuasion_text,
)
from apportion.rlhf.stackelberg.training import TrainedRefiner, epoch_folders, read_settings, train_refiner
from apportion.rlhf.stackelberg.validation import session_of, speeches
from apportion.rlhf.training.tiny_policy import build_tiny
from tests.rlhf.stackelberg.round_table import DESIRED, answer_of, role_of, round_table

TURNS, READ = 120, 400
"""Turns of a seed's games, and those that its Measurer and the other follower have read."""
SMALL = {"hidden": 64, "layers": 2, "vocabulary": 1000, "warmup_steps": 300, "warmup_batch": 8}
CONFIG = """
instances = ["turns.jsonl"]
output = "refiner"
seed = {seed}
epochs = 2
held_out = 0.2
samples = 4
[measurer]
model = "measurer0"
[align]
policy = "tiny"
batch_size = 32
mini_batch_size = 32
micro_batch_size = 32
beta = 0.15
lr = 0.0015
max_context_tokens = 300
max_new_tokens = 40
lora = {{r = 16, alpha = 32, targets = ["q_proj","k_proj","v_proj","o_proj","gate_proj","up_proj","down_proj"]}}
tiny = {{hidden = 64, layers = 2, vocabulary = 1000, warmup_steps = 300, warmup_batch = 8}}
samples = 0

{more}
"""
PENALTY = """
[impact]
length_penalty = true
free_words = 10
longest_words = 20
"""


def prepared(folder: Path, seed: int, more: str) -> Path:
    """The file of a seed's training, with its turns and its two models beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_instances(folder / "turns.jsonl", round_table(TURNS, seed))
    for who in (0, 1):
        place = folder / f"measurer{who}"
        if not place.exists():
            settings = AlignSettings(max_context_tokens=260, max_new_tokens=30, tiny=SMALL)
            read = follower_episodes(round_table(READ, 100 + seed))
            policy = build_tiny(read, settings, 1000 + who + 10 * seed)
            policy.model.save_pretrained(str(place))
            policy.tokenizer.save_pretrained(str(place))
    (folder / "train.toml").write_text(CONFIG.format(seed=seed, more=more), encoding="utf-8")
    return folder / "train.toml"


def trained(folder: Path, seed: int, more: str) -> TrainedRefiner:
    """A seed's Refiner."""
    began = time.perf_counter()
    settings = read_settings(prepared(folder, seed, more))
    refiner = train_refiner(settings, lambda done, total, text: print(text, file=sys.stderr) if not done % 20 else None)
    print(f"seed {seed}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return refiner


def by_the_rule(folder: Path) -> list[dict[str, Any]]:
    """By epoch, how often the game's own followers give the desired answer to the Refiner's speeches."""
    turns: Sequence[Instance] = read_instances(folder / "held_out.jsonl")
    window = Window.model_validate(read_window(str(folder)))
    names = [base_of(folder), *map(str, epoch_folders(folder))]
    rows: list[dict[str, Any]] = []
    start: list[float] = []
    for epoch, name in enumerate(names):
        policy = open_policy(name, window, Placement(), name)
        said = speeches(policy, turns, window, "two", ["the rule"], 4)
        moved = [
            fmean(answer_of(role_of(one), words) == DESIRED[0] for words in each)
            for one, each in zip(turns, said, strict=True)
        ]
        start = start or moved
        nearer = paired_interval(np.array(moved) - np.array(start), [session_of(one) for one in turns])
        rows.append({"epoch": epoch, "desired": fmean(moved), "nearer": str(nearer) if epoch else ""})
    return rows


def report(refiner: TrainedRefiner, seed: int, folder: Path) -> dict[str, Any]:
    """What came of one seed, printed and as JSON."""
    curve = refiner.curve
    start, end = curve[0], curve[-1]
    rise = (end.reward - start.reward) / start.deviation
    steps = json.loads((refiner.folder / "metrics.json").read_text(encoding="utf-8"))
    print(f"\n## seed {seed}\n")
    print("| epoch | reward on held-out turns | deviation | within a turn | words |")
    print("|---|---|---|---|---|")
    for row in curve:
        print(f"| {row.epoch} | {row.reward:+.2f} | {row.deviation:.2f} | {row.within:.2f} | {row.words:.1f} |")
    print(f"\nrise: {rise:+.2f} deviations of the start; KL of the last step {steps['kl']:.1f} nats a reply\n")
    found = persuade(PersuasionQuery(refiner.folder, follower=str(folder / "measurer1"), seed=seed))
    print(persuasion_text(found.rows, "another small model, by minilm"))
    rule = by_the_rule(refiner.folder)
    for row in rule:
        print(f"by the game's rule, epoch {row['epoch']}: desired answer {row['desired']:.1%} {row['nearer']}")
    return {
        "seed": seed,
        "rise": rise,
        "kl": steps["kl"],
        "curve": [row.to_json() for row in curve],
        "persuasion": [row.to_json() for row in found.rows],
        "rule": rule,
    }


def main() -> None:
    """Train and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["learning", "length"])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", default="0,1,2")
    chosen = parser.parse_args()
    more = PENALTY if chosen.what == "length" else ""
    rows = []
    for seed in map(int, chosen.seeds.split(",")):
        folder = chosen.work / f"{chosen.what}-{seed}"
        rows.append(report(trained(folder, seed, more), seed, folder))
    (chosen.work / f"{chosen.what}.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
