"""What learns a decomposition: the network and what it reads, and the rewards that its predictions stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import Tensor

from apportion.foundation.arrays import Floats
from apportion.reward_model.learning.dataset import EncodedTurns, TurnInputs
from apportion.reward_model.learning.distillation import mean_and_scale
from apportion.reward_model.learning.objective import Batch, Objective
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
