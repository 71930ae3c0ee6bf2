"""Iterative relative credit refinement: every turn gets its dialogue's share (Gangwani et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from apportion.reward_model.learning.objective import Batch, EveryTurn


@dataclass(frozen=True)
class IRCR(EveryTurn):
    """An objective for the training loop: (r_t - R~/T)^2, one term a turn; it needs the episodes' returns.

    IRCR credits a turn with the mean return of all trajectories that hold it, scaled to 0 to 1 (guidance rewards of
    Gangwani et al., 2020). No two dialogues hold the same turn, so here the mean is taken by the regression, over turns
    that look alike; the target R~/T of each turn is that of GELI's code, and the scale stays that of the score.
    """

    name: str = "IRCR"
    needs_turn_rewards: bool = False

    def loss(self, predicted: Tensor, batch: Batch) -> Tensor:
        """Squared errors of the N turns, in squared units of reward.

        Raises ValueError: The batch has no returns.
        """
        if batch.returns is None:
            raise ValueError("IRCR needs a batch with returns")
        return (predicted - (batch.returns / batch.lengths)[batch.episode]) ** 2
