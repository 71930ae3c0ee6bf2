"""What a reward model can be trained for: an objective over the predicted rewards of whole episodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """B episodes of which N turns in all are scored, one episode after the other.

    ``offsets`` (B + 1) int64: episode i has the scored turns ``offsets[i]:offsets[i + 1]``, at least one. ``lengths``
    (B) float: T of each episode, its scored turns and the others. ``returns`` (B) float: R~, None where the objective
    needs none; ``expected`` is what is expected of it before anything is said, the mean over the training episodes.
    ``turn_rewards`` (N) float: r_LI of each scored turn, None where it needs none.
    """

    offsets: Tensor
    lengths: Tensor
    returns: Tensor | None = None
    turn_rewards: Tensor | None = None
    expected: float = 0.0

    @cached_property
    def counts(self) -> Tensor:
        """K of each episode, its scored turns, (B) float."""
        return (self.offsets[1:] - self.offsets[:-1]).to(self.lengths.dtype)

    @cached_property
    def episode(self) -> Tensor:
        """The place in the batch of each scored turn's episode, (N) int64."""
        return torch.repeat_interleave(self.offsets[1:] - self.offsets[:-1])

    def sums(self, values: Tensor) -> Tensor:
        """Sums of ``values`` (N) within each episode, (B)."""
        return values.new_zeros(len(self.lengths)).index_add(0, self.episode, values)


class Objective(Protocol):
    """One way to train r_theta. The loop (`apportion.reward_model.learning.training.train`) knows nothing else of it.

    ``name`` and ``hyper_parameters`` are shown to people.
    """

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def hyper_parameters(self) -> Mapping[str, float | bool]:
        """Its settings, for the record."""

    def sample(self, length: int, generator: torch.Generator) -> Tensor:
        """Which of an episode's T turns a training step scores: positions (K) int64. Validation scores all of them."""

    def loss(self, predicted: Tensor, batch: Batch) -> Tensor:
        """One term for each scored turn (N), or for each episode (B); the loop takes the mean of all terms."""


class EveryTurn:
    """Part of an objective: each training step scores all turns of its episodes, and there is nothing to set."""

    @property
    def hyper_parameters(self) -> Mapping[str, float | bool]:
        """None."""
        return {}

    def sample(self, length: int, generator: torch.Generator) -> Tensor:
        """All T turns."""
        return torch.arange(length)


@dataclass(frozen=True)
class TurnMSE(EveryTurn):
    """Eq. 5 of LLM-GELI: the mean over turns of (r_LI - r_theta)^2."""

    name: str = "turn MSE (Eq. 5, LLM-GELI)"

    def loss(self, predicted: Tensor, batch: Batch) -> Tensor:
        """Squared errors of the N turns, in squared units of reward; 0 for a turn that has no reward (NaN).

        Raises ValueError: The batch has no turn rewards.
        """
        if batch.turn_rewards is None:
            raise ValueError("TurnMSE needs a batch with turn rewards")
        unknown = batch.turn_rewards.isnan()
        # Eq. 5, LLM-GELI; the difference of an unknown one is taken out before its gradient could be NaN.
        return (torch.where(unknown, predicted.detach(), batch.turn_rewards) - predicted) ** 2 * ~unknown
