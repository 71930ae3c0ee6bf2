"""RUDDER: a turn is worth how much it changes the return that is expected (Arjona-Medina et al., 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from apportion.decompose.corpus_methods.objectives import Network, Task
from apportion.decompose.method_settings import RudderSettings
from apportion.reward_model.config import RewardModelConfig
from apportion.reward_model.learning.dataset import TurnInputs
from apportion.reward_model.learning.distillation import mean_and_scale
from apportion.reward_model.learning.objective import Batch
from apportion.reward_model.model import RewardModel
from apportion.reward_model.network.backbones import Backbone


@dataclass(frozen=True)
class RUDDER:
    """An objective for the training loop; the network predicts g_t, the return that is expected after t turns.

        loss = (g_T - R~)^2 + a * mean_t (g_t - R~)^2                  one term an episode, a = 0.5
        r_t  = g_t - g_(t-1) + (R~ - (g_T - g_0))/T                    they telescope to R~

    The main and the auxiliary task, and the redistribution by differences of predicted returns with what is left
    spread evenly, of Arjona-Medina et al., 2019. g_0 is the mean return, which is 0 where R~ is the score less that of
    the training sessions; left out, it would make the first turn worth all that is expected of any dialogue. GELI's
    code has mean(x)^2 where mean(x^2) is meant; this one has the second.
    """

    settings: RudderSettings
    name: str = "RUDDER"

    @property
    def hyper_parameters(self) -> Mapping[str, float | bool]:
        """The weight of the auxiliary task."""
        return {"auxiliary": self.settings.auxiliary}

    def sample(self, length: int, generator: torch.Generator) -> Tensor:
        """All T turns: each prediction builds on those before it."""
        return torch.arange(length)

    def loss(self, predicted: Tensor, batch: Batch) -> Tensor:
        """One term an episode (B), in squared units of the score.

        Raises ValueError: The batch has no returns.
        """
        returns = _returns(batch)
        errors = (predicted - returns[batch.episode]) ** 2
        return errors[batch.offsets[1:] - 1] + self.settings.auxiliary * batch.sums(errors) / batch.counts

    def network(self, task: Task) -> Network:
        """A `ReturnPredictor` that starts at the mean return."""
        _, scale = mean_and_scale(task.returns)
        reading = task.reading
        settings = task.settings.model_copy(update={"heads": 1})  # It has a head of its own.
        model = ReturnPredictor.new(settings, reading.width, task.seed, reading.backbone, task.expected, scale)
        return Network(model, DialogueTurns(reading.inputs, torch.tensor(reading.history_windows.offsets)))

    def rewards(self, predicted: Tensor, batch: Batch) -> Tensor:
        """r_t (N) of whole episodes; where the batch has no returns they sum to g_T, what is predicted of R~.

        What a dialogue's score differs by from its prediction cannot be known before there is one.
        """
        ends = predicted[batch.offsets[1:] - 1]
        returns = ends if batch.returns is None else batch.returns
        before = torch.cat([predicted.new_zeros(1), predicted[:-1]])
        starts = torch.zeros(len(predicted), dtype=torch.bool)
        starts[batch.offsets[:-1]] = True
        left = (returns - (ends - batch.expected)) / batch.counts
        return predicted - torch.where(starts, batch.expected, before) + left[batch.episode]


class ReturnPredictor(RewardModel):
    """g: an LSTM over a dialogue's turns as the backbone reads them, and a head that gives one number a turn.

    ``head_hidden_size`` is the width of the LSTM. Of a single dialogue, `of_embeddings` takes the turns in their order.
    """

    def __init__(self, config: RewardModelConfig, backbone: Backbone | None = None) -> None:
        super().__init__(config.model_copy(update={"beside": 0}), backbone)  # It has one reader.
        self.head = _RecurrentHead(config)

    def members(self, embeddings: Tensor) -> Tensor:
        """g [shape=(T, 1)] of one dialogue's turns [shape=(T, d)], in units of the score."""
        return self.returns(embeddings, [len(embeddings)])[:, None]

    def returns(self, embeddings: Tensor, lengths: Sequence[int]) -> Tensor:
        """g [shape=(N,)] of dialogues of ``lengths`` turns, one after the other [shape=(N, d)]."""
        predicted: Tensor = self.head(embeddings[:, : self.config.width], lengths)
        return self.config.reward_mean + self.config.reward_scale * predicted


class _RecurrentHead(nn.Module):
    def __init__(self, config: RewardModelConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width)
        self.lstm = nn.LSTM(config.width, config.head_hidden_size, batch_first=True)
        self.dropout = nn.Dropout(config.dropout)
        self.last = nn.Linear(config.head_hidden_size, 1)
        nn.init.zeros_(self.last.weight)  # Training starts at the mean return.
        nn.init.zeros_(self.last.bias)

    def forward(self, embeddings: Tensor, lengths: Sequence[int]) -> Tensor:
        dialogues = pad_sequence(list(self.norm(embeddings).split(list(lengths))), batch_first=True)
        states, _ = self.lstm(dialogues)
        # What follows a shorter dialogue is padding, and an LSTM does not look ahead.
        turns = torch.cat([state[:length] for state, length in zip(states, lengths, strict=True)])
        return cast(Tensor, self.last(self.dropout(turns))).squeeze(-1)


@dataclass(frozen=True)
class DialogueTurns(TurnInputs):
    """Turns that are read in their order, each dialogue from its first one on.

    ``turns`` are what a backbone gives, ``offsets`` (S + 1) int64 where the S dialogues begin among them.
    """

    turns: TurnInputs
    offsets: Tensor

    def members(self, model: RewardModel, positions: Tensor) -> Tensor:
        """g (K, 1) of the turns at ``positions`` (K) int64."""
        dialogues, member = torch.unique(
            torch.searchsorted(self.offsets, positions, right=True) - 1, return_inverse=True
        )
        starts = self.offsets[dialogues]
        ends = starts.scatter_reduce(0, member, positions + 1, "amax")
        lengths = ends - starts
        rows = torch.cat([torch.arange(a, b) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
        embeddings = self.turns.embed(model, rows)
        predicted = cast(ReturnPredictor, model).returns(embeddings, lengths.tolist())
        places = torch.cumsum(lengths, 0) - lengths
        return predicted[places[member] + positions - starts[member], None]

    def embed(self, model: RewardModel, positions: Tensor) -> Tensor:
        """Embeddings (K, d), one turn at a time."""
        return self.turns.embed(model, positions)


def _returns(batch: Batch) -> Tensor:
    if batch.returns is None:
        raise ValueError("RUDDER needs a batch with returns")
    return batch.returns
