"""Steps down Eq. 1, a seed after the other: SGD with Nesterov momentum, each gradient cut to a length of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from apportion.rlhf.negotiation.data.dialogues import Dialogues
from apportion.rlhf.negotiation.model.likelihood.arrays import NAMES, Batch, network_arrays, room_for_gradient
from apportion.rlhf.negotiation.model.likelihood.gradient import loss_and_gradient
from apportion.rlhf.negotiation.model.loops.compiled import compiled, summing
from apportion.rlhf.negotiation.model.loops.weights import Floats
from apportion.rlhf.negotiation.model.network import Weights
from apportion.rlhf.negotiation.model.optimizer import check_finite

Table = tuple[Floats, ...]


@dataclass(frozen=True)
class Dropout:
    """Which units are left out of embeddings, states and the selection's layer, drawn for each seed by itself.

    Parameters
    ----------
    share : float
        Of the units.
    draws : list of torch.Generator
        A seed's, in this order: numbers for embeddings [shape=(B, T + 1, E)], states [shape=(B, T + 1, H)] and the
        layer [shape=(B, s)]; a unit is left out where its number is below the share.
    """

    share: float
    draws: list[torch.Generator]


@summing
def _squares(whole: Floats) -> np.float32:
    total = np.float32(0)
    for place in range(len(whole)):
        total += whole[place] * whole[place]
    return total


@compiled
def _down(weight: Floats, pace: Floats, grad: Floats, cut: np.float32, rate: np.float32, momentum: np.float32) -> None:
    for place in range(len(weight)):
        own = cut * grad[place]
        pace[place] = momentum * pace[place] + own
        weight[place] -= rate * (own + momentum * pace[place])


@compiled
def _plain_down(weight: Floats, grad: Floats, step: np.float32) -> None:
    for place in range(len(weight)):
        weight[place] -= step * grad[place]


@compiled
def down(
    weights: Table, paces: Table, whole: Floats, seed: int, rate: float, clip: float, momentum: np.float32
) -> float:
    """One step of a seed down a gradient, whose length it gives; where that is not finite, nothing is changed.

    ``weights`` and ``paces`` are matrices [shape=(S, ...)] in the order of `NAMES`; without ``momentum`` no pace is
    kept.
    """
    length = float(np.sqrt(_squares(whole)))
    if not np.isfinite(length):
        return length
    cut, first = np.float32(min(1.0, clip / max(length, 1e-12))), 0
    for place in range(len(weights)):
        own = weights[place][seed]
        grad = whole[first : first + len(own)]
        if momentum > 0:
            _down(own, paces[place][seed], grad, cut, np.float32(rate), momentum)
        else:
            _plain_down(own, grad, np.float32(rate) * cut)
        first += len(own)
    return length


def batch_of(dialogues: Dialogues, dropout: Dropout | None, state: int, embedding: int, layer: int) -> Batch:
    """Dialogues [shape=(S, B, ...)] and what is drawn for dropout, of so many units.

    Raises
    ------
    ValueError
        There is not a generator a seed.
    """
    seeds, count = dialogues.lengths.shape
    if dropout is not None and len(dropout.draws) != seeds:
        raise ValueError(f"dropout draws for {len(dropout.draws)} of {seeds} seeds; give each a generator of its own")
    inputs = dialogues.inputs

    def drawn(*shape: int) -> Floats:
        if dropout is None:
            return np.zeros((1,) * (1 + len(shape)), dtype=np.float32)
        return torch.stack([torch.rand(shape, generator=one) for one in dropout.draws]).numpy()

    steps = inputs.shape[-1]
    return Batch(
        inputs,
        dialogues.next_roles,
        dialogues.targets(),
        dialogues.counts,
        dialogues.values,
        dialogues.taken,
        dialogues.lengths,
        drawn(count, steps, embedding),
        drawn(count, steps, state),
        drawn(count, layer),
    )


class LikelihoodDescent:
    """SGD with Nesterov momentum down Eq. 1.

    Parameters
    ----------
    weights : dict of Tensor
        S seeds of what is trained, float32; changed in place.
    seeds : sequence of int
        What the seeds are called, for whoever reads of a failure.
    alpha : float
        Of Eq. 1.
    momentum : float
        0: plain SGD.
    """

    def __init__(self, weights: Weights, seeds: Sequence[int], alpha: float, momentum: float = 0.0) -> None:
        self.seeds, self._alpha, self._momentum = seeds, alpha, momentum
        self.pace: Weights = {name: torch.zeros_like(weights[name]) for name in weights} if momentum else {}
        self._network = network_arrays(weights)
        self._whole, self._grads = room_for_gradient(weights)
        self._flat = _flat(weights)
        self._paces = _flat(self.pace or weights)

    def step(
        self, dialogues: Dialogues, dropout: Dropout | None, rate: float, clip: float, when: str
    ) -> NDArray[np.float64]:
        """One step by dialogues of every seed; the losses before it [shape=(S,)].

        Raises
        ------
        UnitError
            A gradient is not finite, of which ``when`` tells a person the update; nothing was changed of its seed and
            those after it.
        """
        network, count = self._network, len(self.seeds)
        sizes = network.acting.state.shape[1], network.acting.role.shape[2], network.taking.select.shape[2]
        batch = batch_of(dialogues, dropout, *sizes)
        share = np.float32(dropout.share if dropout is not None else 0)
        losses, lengths = np.zeros(count), np.zeros(count)
        for seed in range(count):
            losses[seed] = loss_and_gradient(network, seed, batch, self._alpha, share, self._grads)
            momentum = np.float32(self._momentum)
            lengths[seed] = down(self._flat, self._paces, self._whole, seed, rate, clip, momentum)
            check_finite(torch.from_numpy(lengths), self.seeds, when)
        return losses


def _flat(weights: dict[str, Tensor]) -> Table:
    return tuple(weights[name].numpy().reshape(len(weights[name]), -1) for name in NAMES)
