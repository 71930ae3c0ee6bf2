"""GELI: a decomposition of the score, shaped by what each turn shows of its effect (Lee et al., 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from apportion.decompose.corpus_methods.network import Network, Task, network_of, rewards_of
from apportion.decompose.settings import GELISettings
from apportion.reward_model.learning.objective import Batch, Objective


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
    needs_turn_rewards: bool = True

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
