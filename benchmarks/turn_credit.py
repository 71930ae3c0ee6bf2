"""Does a reward at each turn teach faster than their sum at the end of the dialogue?

A dialogue of several turns with a partner that always says the same. One turn, the first, decides the score: 1 if it
opens with a letter, as about a quarter of the tokens do. Per-turn rewards pay that score where it was earned; the
scalar pays it at the end of the last turn. Everything else is the same: the real PPO loop, a small random LLaMA with
LoRA, five seeds.

    python benchmarks/turn_credit.py [--figure docs/images/turn_credit.png]
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)

import torch

from benchmarks.measure import tell
from rlhf.contexts import DialogueContext
from rlhf.lora import attach_adapter
from rlhf.ppo import PPO
from rlhf.settings import AlarmSettings, AlignSettings, LoraSettings
from tests.rlhf.toy import small_policy, token_contexts

SEEDS = range(5)
TURNS = 6
STEPS = 60
BATCH = 32
OPTIMUM_SHARE = 0.9
SMOOTH = 3


class Nodding:
    """Says the same whatever it hears; what the scorer reads is the number of the turn."""

    def answer(self, context: DialogueContext, replies: Sequence[str]) -> str | None:
        """Never ends the dialogue."""
        return "no"

    def history(self, context: DialogueContext, replies: Sequence[str]) -> str:
        """How many turns came before."""
        return str(len(replies))


def first_turn_decides(histories: Sequence[str], replies: Sequence[str]) -> list[float]:
    """1 for a first turn that opens with a letter, 0 for any other turn."""
    return [
        float(history == "0" and reply[:1].isascii() and reply[:1].isalpha())
        for history, reply in zip(histories, replies, strict=True)
    ]


def learn(seed: int, reward_at: str) -> list[float]:
    """Mean score of the deciding turn (optimum 1) in each step, until it has stayed at 90 %."""
    settings = AlignSettings(
        steps=STEPS, batch=BATCH, minibatch=BATCH, inner_epochs=4, lr=5e-3, value_lr=1e-2, lr_schedule="constant",
        kl_coefficient=0.0, score_norm=False, max_new_tokens=1, max_context_tokens=120, temperature=0.5,
        reply_turns=TURNS, reward_at="turn" if reward_at == "turn" else "response",
        lora=LoraSettings(r=8, alpha=16, dropout=0.0),
        alarms=AlarmSettings(max_kl=0, length_factor=0, repetition_rise=0, entropy_share=0),
    )  # fmt: skip
    policy = small_policy(seed)
    torch.manual_seed(seed)
    model = attach_adapter(policy.model, settings.lora)
    ppo = PPO(policy, model, token_contexts(policy), first_turn_decides, settings, Nodding())
    scores: list[float] = []
    for step in range(1, STEPS + 1):
        # A response holds TURNS turns, of which only the first can score.
        scores.append(ppo.step(step)["reward"] * TURNS)
        if samples_needed(scores, 1) is not None:
            break
    return scores


def samples_needed(scores: Sequence[float], batch: int) -> float | None:
    """Dialogues sampled until the mean of three steps in a row is 90 % of the optimum, None if it never is."""
    for step in range(SMOOTH, len(scores) + 1):
        if statistics.fmean(scores[step - SMOOTH : step]) >= OPTIMUM_SHARE:
            return step * batch
    return None


def draw(curves: dict[str, list[list[float]]], path: Path) -> None:
    """Mean score over dialogues sampled, one thin line a seed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.6), dpi=120)
    for (name, runs), colour in zip(curves.items(), ("#1b6ca8", "#c8553d"), strict=True):
        for number, scores in enumerate(runs):
            sampled = [BATCH * (step + 1) for step in range(len(scores))]
            axes.plot(sampled, scores, color=colour, alpha=0.55, linewidth=1.2,
                      label=name if number == 0 else None)  # fmt: skip
    axes.axhline(OPTIMUM_SHARE, color="#777777", linewidth=0.8, linestyle="--")
    axes.set(xlabel="dialogues sampled (a line ends at 90 % of the optimum)", ylabel="score of the deciding turn")
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=Path, help="where to draw the curves")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    curves: dict[str, list[list[float]]] = {"a reward at each turn": [], "their sum at the end": []}
    ratios = []
    for seed in arguments.seeds:
        needed = []
        for name, reward_at in zip(curves, ("turn", "response"), strict=True):
            scores = learn(seed, reward_at)
            curves[name].append(scores)
            found = samples_needed(scores, BATCH)
            needed.append(math.inf if found is None else found)
            tell(f"turn_credit, {name}, seed {seed}", found or -1, f"dialogues to 90 %, -1: not in {BATCH * STEPS}")
        ratios.append(needed[0] / needed[1] if math.isfinite(needed[0]) else math.inf)
    tell("turn_credit", statistics.median(ratios), "samples of the per-turn rewards / of the scalar, median",
         worst=max(ratios), claim="at most 0.5")  # fmt: skip
    if arguments.figure:
        draw(curves, arguments.figure)
        print(f"wrote {arguments.figure}")


if __name__ == "__main__":
    main()
