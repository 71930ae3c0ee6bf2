"""Distillation: the squared distance to turn labels that any decomposition has made."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from reward_model.objective import Batch, EveryTurn


@dataclass(frozen=True)
class LabelMSE(EveryTurn):
    """Eq. 5 of LLM-GELI: the mean over turns of (r_LI - r_theta)^2."""

    name: str = "label MSE (Eq. 5, LLM-GELI)"
    needs_labels: bool = True

    def loss(self, predicted: Tensor, batch: Batch) -> Tensor:
        """Squared errors of the N turns, in squared units of reward.

        Raises
        ------
        ValueError
            The batch has no labels.
        """
        if batch.labels is None:
            raise ValueError("LabelMSE needs a batch with labels")
        return (batch.labels - predicted) ** 2  # Eq. 5, LLM-GELI
