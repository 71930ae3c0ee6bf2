"""What learns a decomposition, how rewards follow from its predictions, and the objectives RRD, IRCR and GELI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from apportion.decompose.method_settings import GELISettings, RRDSettings
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError
from apportion.reward_model.learning.dataset import EncodedTurns, TurnInputs
from apportion.reward_model.learning.distillation import mean_and_scale
from apportion.reward_model.learning.objective import Batch, EveryTurn, Objective
from apportion.reward_model.model import RewardModel
from apportion.reward_model.settings import RewardModelSettings


@dataclass(frozen=True)
class Network:
    """The network to be trained, and what it reads of the turns."""

    model: RewardModel
    inputs: TurnInputs


@dataclass(frozen=True)
class Task:
    """What a network is made for: the turns that were read, and the training episodes' R~ (S) and T (S), float64.

    ``expected`` is the mean of their R~, 0 where R~ is relative to it; ``score_offset`` is what R~ leaves out of the
    score, which a reward model keeps with its weights.
    """

    reading: EncodedTurns
    settings: RewardModelSettings
    seed: int
    returns: Floats
    lengths: Floats
    expected: float = 0.0
    score_offset: float = 0.0


@runtime_checkable
class CustomNetwork(Protocol):
    """An objective whose predictions are no rewards yet: it brings its network, and says how rewards follow."""

    def network(self, task: Task) -> Network:
        """The network, untrained."""

    def rewards(self, predicted: Tensor, batch: Batch) -> Tensor:
        """r (N) of whole episodes, from what the network predicts (N); without returns, of those not scored yet."""


def network_of(objective: Objective, task: Task) -> Network:
    """The objective's own network, or a reward model that starts at the training mean of R~/T."""
    if isinstance(objective, CustomNetwork):
        return objective.network(task)
    mean, scale = mean_and_scale(task.returns / task.lengths)
    reading = task.reading
    model = RewardModel.new(task.settings, reading.width, task.seed, reading.backbone, mean, scale, task.score_offset)
    return Network(model, reading.inputs)


def rewards_of(objective: Objective, predicted: Tensor, batch: Batch) -> Tensor:
    """r (N) of whole episodes: the predictions themselves, or what the objective makes of them."""
    return objective.rewards(predicted, batch) if isinstance(objective, CustomNetwork) else predicted


@dataclass(frozen=True)
class RRD:
    """An objective for the training loop: it needs the episodes' returns R~ and no turn rewards.

    With K of T turns drawn without replacement, biased: (mean_K r - R~/T)^2. Its expectation is the full loss
    (mean_T r - R~/T)^2 plus the variance of the sampled mean, a pull towards equal rewards; ``settings.corrected``
    takes an unbiased estimate of that variance away. From K = T on, both are the full loss.

    Raises InputError: ``corrected`` with k = 1: one turn has no variance.
    """

    settings: RRDSettings
    name: str = "RRD"

    def __post_init__(self) -> None:
        if self.settings.corrected and self.settings.k < 2:
            raise InputError(
                "decompose.rrd: k = 1 with corrected = true; the correction needs the variance of at least 2 turns. "
                "Set k to 2 or more, or corrected to false."
            )

    @property
    def hyper_parameters(self) -> Mapping[str, float | bool]:
        """K, and whether the loss is corrected."""
        return {"k": self.settings.k, "corrected": self.settings.corrected}

    def sample(self, length: int, generator: torch.Generator) -> Tensor:
        """K of the T turns without replacement, in the order they were said; all of them where T <= K."""
        if length <= self.settings.k:
            return torch.arange(length)
        return torch.randperm(length, generator=generator)[: self.settings.k].sort().values

    def loss(self, predicted: Tensor, batch: Batch) -> Tensor:
        """One term an episode (B), in squared units of reward; a corrected term may be below zero.

        Raises ValueError: The batch has no returns.
        """
        if batch.returns is None:
            raise ValueError("RRD needs a batch with returns")
        mean = batch.sums(predicted) / batch.counts
        biased = (mean - batch.returns / batch.lengths) ** 2  # Eq. 8 (randomized), Ren et al., 2021
        return biased - self._bias(predicted, mean, batch) if self.settings.corrected else biased

    def _bias(self, predicted: Tensor, mean: Tensor, batch: Batch) -> Tensor:
        """s2_K/K * (1 - K/T): the sampled mean's variance, estimated from the K turns (B)."""
        squares = batch.sums((predicted - mean[batch.episode]) ** 2)
        variance = squares / (batch.counts - 1).clamp(min=1)
        return variance / batch.counts * (1 - batch.counts / batch.lengths)


@dataclass(frozen=True)
class IRCR(EveryTurn):
    """An objective for the training loop: (r_t - R~/T)^2, one term a turn; it needs the episodes' returns.

    IRCR credits a turn with the mean return of all trajectories that hold it, scaled to 0 to 1 (guidance rewards of
    Gangwani et al., 2020). No two dialogues hold the same turn, so here the mean is taken by the regression, over turns
    that look alike; the target R~/T of each turn is that of GELI's code, and the scale stays that of the score.
    """

    name: str = "IRCR"

    def loss(self, predicted: Tensor, batch: Batch) -> Tensor:
        """Squared errors of the N turns, in squared units of reward.

        Raises ValueError: The batch has no returns.
        """
        if batch.returns is None:
            raise ValueError("IRCR needs a batch with returns")
        return (predicted - (batch.returns / batch.lengths)[batch.episode]) ** 2


@dataclass(frozen=True)
class GELI:
    """An objective for the training loop: w * global + (1 - w) * mean_t (r_t - l_t)^2, one term an episode, w = 0.5.

    ``whole`` is the global part (RRD, IRCR or RUDDER), l_t the local value: visual affect (VA) or the sentiment of the
    reply (LS), put into units of reward (`apportion.decompose.corpus_methods.local_values`). A turn without one adds
    nothing to the second part.
    The loss of GELI (Lee et al., 2024), L = L_GE + L_LI, with equal parts as in its code.
    """

    whole: Objective
    settings: GELISettings

    @property
    def name(self) -> str:
        """GELI with its global part."""
        return f"GELI ({self.whole.name})"

    @property
    def hyper_parameters(self) -> Mapping[str, float | bool]:
        """The weight of the global part, and what belongs to that."""
        return {"weight": self.settings.weight, **self.whole.hyper_parameters}

    def sample(self, length: int, generator: torch.Generator) -> Tensor:
        """The turns that the global part samples."""
        return self.whole.sample(length, generator)

    def loss(self, predicted: Tensor, batch: Batch) -> Tensor:
        """One term an episode (B), in the squared units of the global part.

        Raises ValueError: The batch has no turn rewards, or lacks what the global part needs.
        """
        if batch.turn_rewards is None:
            raise ValueError("GELI needs a batch with turn rewards")
        terms = self.whole.loss(predicted, batch)
        if len(terms) != len(batch.lengths):  # One a turn, as IRCR has it.
            terms = batch.sums(terms) / batch.counts
        known = torch.isfinite(batch.turn_rewards)
        # Masked before it is squared: the gradient of NaN times 0 is NaN.
        errors = torch.where(known, self.rewards(predicted, batch) - batch.turn_rewards.nan_to_num(0.0), 0.0) ** 2
        local = batch.sums(errors) / batch.sums(known.to(errors.dtype)).clamp(min=1)
        return self.settings.weight * terms + (1 - self.settings.weight) * local

    def network(self, task: Task) -> Network:
        """The network of the global part."""
        return network_of(self.whole, task)

    def rewards(self, predicted: Tensor, batch: Batch) -> Tensor:
        """The rewards (N) of the global part."""
        return rewards_of(self.whole, predicted, batch)
