"""Claim: REINFORCE with one game an update takes a quarter of the time when every seed goes through its game by itself.

Run: OMP_NUM_THREADS=1 taskset -c 0 python benchmarks/negotiation_updates.py [--seeds 10] [--games 300]

The compiled loops (`apportion.rlhf.negotiation.model.one_game`) beside the batched products with autograd, which read
the weights of all seeds for every act: the same networks, after supervised learning of made-up dialogues (scripts),
play and learn by turns, 100 games of every seed at a time. An update of supervised learning (16 dialogues), compiled as
well (`apportion.rlhf.negotiation.model.likelihood`), is told beside them. Times are of the process; what is compiled,
once an installation, is not in them and is told by itself.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

# A file beside this one is named like a package of ours, so its own folder may not be searched first.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import torch

from apportion.rlhf.negotiation.datasets import material_of
from apportion.rlhf.negotiation.experiment import Experiment
from apportion.rlhf.negotiation.model.network import Weights, drawn_weights
from apportion.rlhf.negotiation.model.player import NetworkPlayer
from apportion.rlhf.negotiation.reinforce import ReinforceTraining, Rewards
from apportion.rlhf.negotiation.settings import NegotiatorSettings
from apportion.rlhf.negotiation.supervised import Examples, SupervisedTraining
from benchmarks.freed_memory import keep_freed_memory
from benchmarks.measure import tell

AIM, AT_A_TIME = 1 / 4, 100


@dataclass
class Timed:
    """A training and what its games took so far, in ms a game of all seeds, by turns."""

    training: ReinforceTraining
    took: list[float]

    def go(self) -> None:
        """Play and learn of some games more."""
        first, began = self.training.done, time.process_time()
        for game in range(first, first + AT_A_TIME):
            self.training.update(game, game + 1)
        self.training.done += AT_A_TIME
        self.took.append((time.process_time() - began) / AT_A_TIME * 1e3)


def learned(settings: NegotiatorSettings) -> tuple[Weights, float, float]:
    """The models of supervised learning, s till the first update, and ms an update of all seeds after it."""
    weights, material = drawn_weights(settings.network, settings.seeds), material_of(settings)
    examples = Examples.shared(material.own, len(settings.seeds))
    training = SupervisedTraining(
        weights, settings.seeds, examples, settings.supervised, settings.network.dropout, "supervised"
    )
    began, updates = time.process_time(), training.run()
    next(updates)
    first = time.process_time() - began
    count = sum(1 for _ in updates)
    return weights, first, (time.process_time() - began - first) / count * 1e3


def trainings(settings: NegotiatorSettings, weights: Weights) -> Iterator[ReinforceTraining]:
    """By compiled loops, and by batched products."""
    with TemporaryDirectory() as folder:
        cell = Experiment(settings, material_of(settings), Path(folder))
        for compiled in (True, False):
            bob = {name: one.clone() for name, one in weights.items()}
            training = cell._reinforcement(weights, bob, 1, Rewards.none(len(settings.seeds)), None)
            if not compiled:
                training.alice = NetworkPlayer(training.weights, settings.reinforce.temperature)
                training.bob = NetworkPlayer(bob, settings.reinforce.temperature, lasting=True)
            yield training


def main() -> None:
    """Print what both take."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--games", type=int, default=300, help="of every seed, both ways")
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    settings = NegotiatorSettings.model_validate(
        {
            "method": "rl",
            "seeds": tuple(range(options.seeds)),
            "supervised": {"epochs": 4},
            "reinforce": {"games": 2 * AT_A_TIME + options.games},
        }
    )
    weights, first_update, update = learned(settings)
    compiled, batched = (Timed(training, []) for training in trainings(settings, weights))
    began = time.process_time()
    compiled.training.update(0, 1)  # What is compiled is kept on the disk, and only read the next time.
    first = time.process_time() - began
    for _ in range(1 + options.games // AT_A_TIME):
        compiled.go()
        batched.go()
    own, other = min(compiled.took[1:]), min(batched.took[1:])
    about = {"seeds": options.seeds, "data": "made up"}
    tell("the first update of supervised learning, with what has to be compiled", first_update, "s", **about)
    tell("the first game of all seeds, with what has to be compiled", first, "s", **about)
    tell("an update of supervised learning, all seeds", update, "ms", **about)
    tell("a game of all seeds and its update, batched products", other, "ms", **about)
    tell("a game of all seeds and its update, compiled loops", own, "ms", ratio=own / other, aim=AIM, **about)


if __name__ == "__main__":
    main()
