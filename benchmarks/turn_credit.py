"""Does a reward at each turn teach faster than their sum at the end of the dialogue?

A dialogue of 16 turns with a partner that always says the same. One turn, the first, decides the score: 1 if it opens
with a letter, as about a quarter of the tokens do. Each other turn adds what the policy has no hand in (a rater's
mood): independent noise of mean 0 and standard deviation 1. Per-turn rewards pay each score where it was earned; the
scalar pays their sum at the end of the last turn, as a rating of the whole dialogue does. What is best to say is the
same in both, and so is everything else: the real PPO loop, a small random LLaMA with LoRA, the noise, number by number.

How far an advantage looks ahead (GAE's lambda: 0 is one turn, 1 the whole dialogue, 0.95 the default) suits the two
differently. Per-turn rewards are run with 0; the scalar, which has to look far, is run with 0.95 and with 1, and the
better of the two counts. Samples are those until the policy is at 90 % of the optimum, noise left out, five seeds.

    python -m benchmarks.turn_credit [--figure docs/images/turn_credit.png]
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import torch

from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.ppo.ppo import PPO
from apportion.rlhf.settings import AlarmSettings, AlignSettings
from benchmarks.measure import tell
from tests.rlhf.toy import small_policy, token_contexts

Arm = Literal["turn", "response"]
ARMS: dict[Arm, str] = {"turn": "a reward at each turn", "response": "their sum at the end"}
SEEDS = range(5)
LAMBDAS: dict[Arm, tuple[float, ...]] = {"turn": (0.0,), "response": (1.0, 0.95)}
TURNS = 16
NOISE = 1.0
STEPS = 50
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


class FirstTurnDecides:
    """1 for a first turn that opens with a letter, else 0, and noise for every other turn.

    ``earned`` is the mean of the former over the last batch.
    """

    def __init__(self, seed: int) -> None:
        self.noise = torch.Generator().manual_seed(seed)
        self.earned = 0.0

    def __call__(
        self, contexts: Sequence[DialogueContext], histories: Sequence[str], replies: Sequence[str]
    ) -> list[float]:
        """One score a turn."""
        assert len(replies) == BATCH * TURNS, "every dialogue has all its turns"
        clean = [
            float(history == "0" and reply[:1].isascii() and reply[:1].isalpha())
            for history, reply in zip(histories, replies, strict=True)
        ]
        self.earned = sum(clean) / BATCH
        noise = NOISE * torch.randn(len(clean), generator=self.noise)
        return [
            score if history == "0" else float(extra)
            for history, score, extra in zip(histories, clean, noise, strict=True)
        ]


def learn(seed: int, arm: Arm, gae_lambda: float) -> list[float]:
    """Mean score of the deciding turn (optimum 1) in each step, until it has stayed at 90 %."""
    settings = AlignSettings(
        steps=STEPS, batch_size=BATCH, mini_batch_size=BATCH, ppo_epochs=4, lr=5e-3, value_lr=1e-2,
        lr_schedule="constant", beta=0.0, score_norm=False, max_new_tokens=1, max_context_tokens=240, temperature=0.5,
        max_turns=TURNS, reward_placement=arm, gae_lambda=gae_lambda, lora=LoraSettings(r=8, alpha=16, dropout=0.0),
        alarms=AlarmSettings(max_kl=0, length_factor=0, repetition_rise=0, self_similarity_rise=0, entropy_share=0),
    )  # fmt: skip
    policy = small_policy(seed)
    torch.manual_seed(seed)
    model = attach_adapter(policy.model, settings.lora)
    reward = FirstTurnDecides(seed)
    ppo = PPO(policy, model, token_contexts(policy), reward, settings, Nodding())
    scores: list[float] = []
    for step in range(1, STEPS + 1):
        ppo.step(step)
        scores.append(reward.earned)
        if samples_needed(scores) is not None:
            break
    return scores


def samples_needed(scores: Sequence[float]) -> int | None:
    """Dialogues sampled until the mean of three steps in a row is 90 % of the optimum, None if it never is."""
    for step in range(SMOOTH, len(scores) + 1):
        if statistics.fmean(scores[step - SMOOTH : step]) >= OPTIMUM_SHARE:
            return step * BATCH
    return None


def draw(curves: dict[Arm, list[list[float]]], lambdas: dict[Arm, float], path: Path) -> None:
    """Score of the deciding turn over dialogues sampled, one thin line a seed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.6), dpi=120)
    for (arm, runs), colour in zip(curves.items(), ("#1b6ca8", "#c8553d"), strict=True):
        for number, scores in enumerate(runs):
            sampled = [BATCH * (step + 1) for step in range(len(scores))]
            axes.plot(sampled, scores, color=colour, alpha=0.55, linewidth=1.2,
                      label=f"{ARMS[arm]} (lambda {lambdas[arm]:g})" if number == 0 else None)  # fmt: skip
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
    best: dict[Arm, float] = {}
    curves: dict[Arm, list[list[float]]] = {}
    samples: dict[Arm, list[float]] = {}
    for arm, name in ARMS.items():
        runs: dict[float, list[list[float]]] = {}
        for gae_lambda in LAMBDAS[arm]:
            runs[gae_lambda] = []
            for seed in arguments.seeds:
                runs[gae_lambda].append(learn(seed, arm, gae_lambda))
                print(f"{name}, lambda {gae_lambda:g}, seed {seed}: {len(runs[gae_lambda][-1])} steps", file=sys.stderr)
            needed = [samples_needed(scores) or math.inf for scores in runs[gae_lambda]]
            # A run that does not get there within the limit counts as one that needs the limit, in its own favour.
            counted = [min(one, BATCH * STEPS) for one in needed]
            tell(f"turn_credit, {name}, lambda {gae_lambda:g}", statistics.median(counted), "dialogues to 90 %, median",
                 seeds=counted, not_reached=sum(math.isinf(one) for one in needed))  # fmt: skip
            if arm not in samples or statistics.median(counted) < statistics.median(samples[arm]):
                best[arm], curves[arm], samples[arm] = gae_lambda, runs[gae_lambda], counted
    assert all(samples_needed(scores) for scores in curves["turn"]), "per-turn rewards are cut off as well"
    ratios = [one / other for one, other in zip(samples["turn"], samples["response"], strict=True)]
    tell("turn_credit", statistics.median(ratios), "samples of the per-turn rewards / of the scalar, median of seeds",
         seeds=[round(ratio, 2) for ratio in ratios], lambdas=best, bar=0.5,
         held=statistics.median(ratios) <= 0.5)  # fmt: skip
    if arguments.figure:
        draw(curves, best, arguments.figure)
        print(f"wrote {arguments.figure}")


if __name__ == "__main__":
    main()
