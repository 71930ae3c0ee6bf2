"""Supervised learning: the likelihood of the acts of dialogues, and of what is taken at their end (Eq. 1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from apportion.environments.negotiation.vectorized import IntArray
from apportion.foundation.errors import InputError
from apportion.rlhf.negotiation.checkpoint import Tensors, number, with_prefix, without_prefix
from apportion.rlhf.negotiation.data.dialogues import Dialogues, joined
from apportion.rlhf.negotiation.model.losses import dropout, likelihood_loss
from apportion.rlhf.negotiation.model.network import Weights
from apportion.rlhf.negotiation.model.optimizer import BatchedSGD
from apportion.rlhf.negotiation.rng import draws_of, torch_draws_of
from apportion.rlhf.negotiation.settings import SupervisedSettings


@dataclass(frozen=True)
class Examples:
    """What S seeds learn from, N dialogues each.

    ``dialogues``: Of all seeds together [shape=(D, ...)]. ``rows`` int64 [S, N]: Which of them are a seed's.
    """

    dialogues: Dialogues
    rows: IntArray

    @classmethod
    def shared(cls, dialogues: Dialogues, seeds: int) -> Examples:
        """The same for every seed."""
        return cls(dialogues, np.tile(np.arange(len(dialogues)), (seeds, 1)))

    @property
    def size(self) -> int:
        """Dialogues of a seed."""
        return int(self.rows.shape[1])

    def grown(self, more: Dialogues) -> Examples:
        """With as many more for each seed, given as arrays that begin with the seeds [shape=(S, N, ...)]."""
        seeds, count = more.acts.shape[:2]
        rows = len(self.dialogues) + np.arange(seeds * count).reshape(seeds, count)
        return Examples(joined([self.dialogues, more.flat()]), np.concatenate([self.rows, rows], axis=1))

    def batch(self, picked: IntArray) -> Dialogues:
        """Some of every seed's, by their places in ``rows`` [shape=(S, B)]."""
        return self.dialogues.chosen(np.take_along_axis(self.rows, picked, axis=1)).cut()


def rates(settings: SupervisedSettings) -> list[float]:
    """The rate of each epoch: the first for ``epochs``, then ``shrink`` times smaller each, down to the least."""
    found = [settings.rate] * settings.epochs
    rate = settings.rate / settings.shrink
    while settings.epochs and rate >= settings.least_rate:
        found.append(rate)
        rate /= settings.shrink
    return found


def epoch_batches(
    examples: Examples, seeds: tuple[int, ...], settings: SupervisedSettings, epoch: int
) -> list[IntArray]:
    """Which dialogues each update of an epoch reads [shape=(S, B)], dialogues of like lengths together.

    Every seed has an order of its own; lengths are brought together so that little is padded, and the order of the
    lengths is the same for all seeds, so that no seed pads for another.
    """
    lengths = examples.dialogues.lengths
    ordered = []
    for seed, rows in zip(seeds, examples.rows, strict=True):
        drawn = draws_of(seed, "order", epoch).permutation(examples.size)
        ordered.append(drawn[np.argsort(lengths[rows[drawn]], kind="stable")])
    places = np.stack(ordered)
    count = -(-examples.size // settings.batch)
    turns = draws_of(0, "batches", epoch).permutation(count)
    return [places[:, turn * settings.batch : (turn + 1) * settings.batch] for turn in turns]


@dataclass
class SupervisedTraining:
    """A supervised training that can be stopped after any update and gone on with.

    ``done`` counts its updates; weights, the descent's momentum and it are all that is kept.
    """

    weights: Weights
    seeds: tuple[int, ...]
    examples: Examples
    settings: SupervisedSettings
    dropout: float
    purpose: str
    done: int = 0

    def __post_init__(self) -> None:
        if not self.examples.size:
            raise InputError(
                f"{self.purpose}: no dialogue to learn from. Raise data.unique, give data.dialogues, or set "
                "data.scratch = true to begin without any."
            )
        self.optimizer = BatchedSGD(self.weights, self.seeds, self.settings.momentum)
        self._rates = rates(self.settings)
        self._per_epoch = -(-self.examples.size // self.settings.batch)

    @property
    def total(self) -> int:
        """Updates in all."""
        return len(self._rates) * self._per_epoch

    def run(self) -> Iterator[int]:
        """Train on; gives ``done`` after every update."""
        while self.done < self.total:
            epoch, first = divmod(self.done, self._per_epoch)
            for picked in epoch_batches(self.examples, self.seeds, self.settings, epoch)[first:]:
                self.update(picked, self._rates[epoch])
                self.done += 1
                yield self.done

    def update(self, picked: IntArray, rate: float) -> None:
        """One update by some dialogues of every seed."""
        batch = self.examples.batch(picked)
        drop = dropout(self.dropout, torch_draws_of(self.seeds, self.purpose, self.done))
        self.optimizer.step(
            lambda: likelihood_loss(self.weights, batch, self.settings.alpha, drop),
            rate,
            self.settings.clip,
            f"{self.purpose}, update {self.done}",
        )

    def state(self) -> Tensors:
        """Weights, momentum and how far it is."""
        velocity = with_prefix("velocity", self.optimizer.velocity)
        return {**with_prefix("weights", self.weights), **velocity, "done": number(self.done)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a state."""
        for group, own in (("weights", self.weights), ("velocity", self.optimizer.velocity)):
            for name, tensor in without_prefix(group, state).items():
                own[name].copy_(tensor)
        self.done = int(state["done"])
