"""Randomized return decomposition: rewards whose mean over some turns predicts the mean over all (Ren et al., 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from apportion.decompose.settings import RRDSettings
from apportion.foundation.errors import InputError
from apportion.reward_model.learning.objective import Batch


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
    needs_turn_rewards: bool = False

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
