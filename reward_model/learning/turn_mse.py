"""Distillation: the squared distance to turn rewards that any decomposition has made."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from apportion.reward_model.learning.objective import Batch, EveryTurn


@dataclass(frozen=True)
class TurnMSE(EveryTurn):
    """Eq. 5 of LLM-GELI: the mean over turns of (r_LI - r_theta)^2."""

    name: str = "turn MSE (Eq. 5, LLM-GELI)"
    needs_turn_rewards: bool = True

    def loss(self, predicted: Tensor, batch: Batch) -> Tensor:
        """Squared errors of the N turns, in squared units of reward.

        Raises
        ------
        ValueError
            The batch has no turn rewards.
        """
        if batch.turn_rewards is None:
            raise ValueError("TurnMSE needs a batch with turn rewards")
        return (batch.turn_rewards - predicted) ** 2  # Eq. 5, LLM-GELI
