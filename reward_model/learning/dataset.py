"""Episodes as a training loop takes them: windows, what is read of each, and what there is to learn from."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from apportion.corpus.files.tablefile import Places, row_places, turn_table
from apportion.foundation.errors import UnitError
from apportion.reward_model.history_windows import HistoryWindows, history_windows, said_by
from apportion.reward_model.learning.objective import Batch
from apportion.reward_model.network.backbones import Backbone, frozen_backbone, load_backbone
from apportion.reward_model.network.dialogue import EncodedDialogue
from apportion.reward_model.network.embed import embed_as_told, embedding_matrix, rows_of, width_of_heads
from apportion.reward_model.network.preflight import check_device
from apportion.reward_model.network.tokens import Encoded
from apportion.reward_model.settings import RewardModelSettings, Scoring

if TYPE_CHECKING:
    from apportion.corpus.session import Episode, EpisodeKey
    from apportion.reward_model.model import RewardModel


class TurnInputs(Protocol):
    """What the model reads of N turns."""

    def members(self, model: RewardModel, positions: Tensor) -> Tensor:
        """What each head predicts (K, E) of the turns at ``positions`` (K) int64."""
        return model.members(self.embed(model, positions))

    def embed(self, model: RewardModel, positions: Tensor) -> Tensor:
        """Their embeddings (K, d) float32."""

    def embed_all(self, model: RewardModel, count: int) -> Tensor:
        """Those of all ``count`` turns; not to be written to."""
        return self.embed(model, torch.arange(count))


@dataclass(frozen=True)
class EmbeddedTurns(TurnInputs):
    """Turns that a frozen backbone has read: ``embeddings`` [shape=(N, d)] float32."""

    embeddings: Tensor

    def embed(self, model: RewardModel, positions: Tensor) -> Tensor:
        """Their embeddings (K, d) float32."""
        return self.embeddings[positions]

    def embed_all(self, model: RewardModel, count: int) -> Tensor:
        """See `TurnInputs`."""
        return self.embeddings


@dataclass(frozen=True)
class TokenizedTurns(TurnInputs):
    """Turns that a trained backbone reads anew in every step."""

    encoded: Sequence[Encoded]

    def embed(self, model: RewardModel, positions: Tensor) -> Tensor:
        """Their embeddings (K, d) float32, with gradients to the backbone."""
        embeddings: Tensor = model.backbone([self.encoded[i] for i in positions.tolist()])
        return embeddings


@dataclass(frozen=True)
class OnePassTurns(TurnInputs):
    """Turns of S dialogues that a trained causal backbone reads anew in every step, each dialogue once.

    ``offsets`` (S + 1) int64: where the dialogues begin among the N turns.
    """

    dialogues: Sequence[EncodedDialogue]
    offsets: Tensor

    def embed(self, model: RewardModel, positions: Tensor) -> Tensor:
        """Their embeddings (K, d) float32, with gradients to the backbone."""
        rows, member = torch.unique(torch.searchsorted(self.offsets, positions, right=True) - 1, return_inverse=True)
        embeddings = model.backbone.read([self.dialogues[row] for row in rows.tolist()])
        lengths = torch.diff(self.offsets)[rows]
        starts = torch.cumsum(lengths, 0) - lengths
        return embeddings[starts[member] + positions - self.offsets[rows][member]]


@dataclass(frozen=True)
class Dataset:
    """S episodes with N target turns, as ``history_windows`` has them.

    ``returns`` (S) float64: R~ of each episode, ``expected`` its mean over the training episodes; ``turn_rewards`` (N)
    float64: r_LI of each turn, NaN where none. Returns or turn rewards are given.
    """

    history_windows: HistoryWindows
    inputs: TurnInputs
    returns: Tensor | None = None
    turn_rewards: Tensor | None = None
    expected: float = 0.0

    def __len__(self) -> int:
        return len(self.history_windows.keys)

    def length(self, row: int) -> int:
        """T of episode ``row``."""
        return self.history_windows.offsets[row + 1] - self.history_windows.offsets[row]

    def batch(self, rows: Sequence[int], sampled: Sequence[Tensor]) -> tuple[Tensor, Batch]:
        """The positions (N) of the ``sampled`` turns of some episodes, and what the objective is told of them."""
        offsets = [0, *np.cumsum([len(turns) for turns in sampled]).tolist()]
        starts = self.history_windows.offsets
        positions = torch.cat([starts[row] + turns for row, turns in zip(rows, sampled, strict=True)])
        return positions, Batch(
            offsets=torch.tensor(offsets, dtype=torch.int64),
            lengths=torch.tensor([self.length(row) for row in rows], dtype=torch.float32),
            returns=None if self.returns is None else self.returns[list(rows)].float(),
            turn_rewards=None if self.turn_rewards is None else self.turn_rewards[positions].float(),
            expected=self.expected,
        )


@dataclass(frozen=True)
class EncodedTurns:
    """The windows of all episodes that can be read, what the model reads of them, and how.

    ``width`` is d of the embeddings; ``backbone`` the one to be trained, None for a frozen one.
    """

    history_windows: HistoryWindows
    inputs: TurnInputs
    width: int
    backbone: Backbone | None = None


def read_turns(episodes: Sequence[Episode], embeddings: pa.Table | None, settings: RewardModelSettings) -> EncodedTurns:
    """Prepare the target turns of ``episodes`` for a model of these settings.

    With an ``embeddings`` table (`apportion.reward_model.network.embed.embed_session`), episodes that it does not hold
    at all were given up when it was made and are left out. Without one, a frozen backbone embeds every window here.

    Raises UnitError: The table holds some turns of an episode and lacks others. Raises InputError: The backbone cannot
    be loaded, or the device is not there.
    """
    if settings.freeze_backbone and embeddings is not None:
        return _from_table(episodes, embeddings, settings.history_turns, settings.scoring)
    check_device(settings.device)
    if settings.freeze_backbone:
        frozen = frozen_backbone(settings.backbone, settings.max_tokens, settings.scoring).to(settings.device)
        windows, vectors = embed_as_told(frozen, episodes, settings)
        return EncodedTurns(windows, EmbeddedTurns(torch.from_numpy(vectors)), frozen.width)
    backbone = load_backbone(settings.backbone, settings.max_tokens, settings.scoring)
    if settings.lora_rank:
        backbone.adapt(settings.lora_rank)
    else:
        backbone.train_upper(settings.trained_layers)
    backbone.to(settings.device)
    if settings.gradient_checkpointing:
        backbone.recompute()
    windows = history_windows(episodes, settings.history_turns)
    if settings.scoring == "one_pass":
        dialogues = [backbone.dialogues.encode(said_by(e)) for e in episodes if e.target_turns]
        inputs: TurnInputs = OnePassTurns(dialogues, torch.tensor(windows.offsets))
    else:
        inputs = TokenizedTurns(backbone.tokens.encode(windows.pairs))
    return EncodedTurns(windows, inputs, backbone.width, backbone)


def _from_table(
    episodes: Sequence[Episode], embeddings: pa.Table, history_turns: int, scoring: Scoring
) -> EncodedTurns:
    places = row_places(embeddings)
    windows = history_windows([e for e in episodes if e.key in places], history_turns)
    rows = [_place(places, key, turn) for key, turn in turn_keys(windows)]
    matrix = rows_of(embedding_matrix(embeddings), rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Arrow's own memory, which nobody writes to.
        turns = EmbeddedTurns(torch.from_numpy(matrix))
    return EncodedTurns(windows, turns, width_of_heads(matrix, scoring))


def turn_keys(windows: HistoryWindows) -> list[tuple[EpisodeKey, int]]:
    """(episode, turn number) of each of the N windows."""
    return [
        (key, turn)
        for key, start, end in zip(windows.keys, windows.offsets, windows.offsets[1:], strict=False)
        for turn in windows.turns[start:end]
    ]


def rows_of_split(windows: HistoryWindows, splits: pa.Table, name: str) -> list[int]:
    """The episodes (places in ``windows``) whose session the split ``name`` holds."""
    pairs: Mapping[str, str] = dict(
        zip(splits.column("session_id").to_pylist(), splits.column("split").to_pylist(), strict=True)
    )
    return [row for row, key in enumerate(windows.keys) if pairs.get(key[0]) == name]


def turn_values(windows: HistoryWindows, columns: Mapping[str, Iterable[float]], method: str, seed: int) -> pa.Table:
    """N values a column as a table of the REWARDS schema, in the order of ``windows``."""
    lengths, numbers = np.diff(windows.offsets).tolist(), {name: np.array([*of]) for name, of in columns.items()}
    return turn_table(windows.keys, lengths, windows.turns, numbers, method, seed)


def _place(places: Places, key: EpisodeKey, turn: int) -> int:
    if turn not in places[key]:
        raise UnitError(
            f"session {key[0]}, turn {turn}: no embedding, and other turns of {key[2]} have one. "
            "Remove the run's output folder and start again, so that it is made anew."
        )
    return places[key][turn]
