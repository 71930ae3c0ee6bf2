"""Distillation: any method's turn rewards into a reward model that reads text alone (LLM-GELI, section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from apportion.corpus.session import Episode, EpisodeKey
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.foundation.errors import UnitError
from apportion.foundation.progress import Progress
from apportion.reward_model.history_windows import HistoryWindows
from apportion.reward_model.learning.dataset import (
    Dataset,
    read_turns,
    row_places,
    rows_of_split,
    turn_keys,
    turn_values,
)
from apportion.reward_model.learning.loop import EpochRow, Training, trained_weights
from apportion.reward_model.learning.objective import TurnMSE
from apportion.reward_model.learning.training import (
    TURNS_AT_ONCE,
    best_epoch,
    fit_baseline,
    history_table,
    score_turns,
    train,
)
from apportion.reward_model.model import RewardModel
from apportion.reward_model.out_of_domain import REFERENCE_BYTES, Domain, evenly
from apportion.reward_model.settings import RewardModelSettings

HELD_OUT_TURNS = 2000
"""Most turns that tell how far a turn may be from those that taught the model."""


def train_reward_model(
    rewards: pa.Table,
    episodes: SplitEpisodes,
    embeddings: pa.Table | None,
    settings: RewardModelSettings,
    seed: int,
    score_offset: float,
    out: Path,
    progress: Progress,
    state: Path | None = None,
) -> tuple[pa.Table, pa.Table]:
    """Train r_theta on one method's rewards (Eq. 5), save it into ``out`` and score every target turn.

    ``rewards``: REWARDS schema, one method and one seed, ``reward`` filled. Episodes that it does not hold are scored,
    not learnt from. ``episodes``: ``train`` is learnt from, ``validation`` stops the training; all of them are scored.
    ``embeddings``: Of all turns, for a frozen backbone (`apportion.reward_model.network.embed.embed_session`); made
    here where it is None. ``score_offset``: What a predicted session score adds to the sum of its rewards; stored with
    the model. ``state``: A file for the state of the unfinished training
    (`apportion.reward_model.learning.training.train`). Returns scores: REWARDS schema with ``reward`` = r_theta(s_t,
    a_t), for every episode with target turns. Returns history: step (epoch), metric, value. Raises UnitError: No
    training session, none with rewards, a turn without a finite reward, or a loss that is not finite. Raises
    InputError: The backbone cannot be loaded.
    """
    method, taught_seed = str(_single(rewards, "method")), int(_single(rewards, "seed"))
    encoded = read_turns(episodes.all, embeddings, settings)
    windows = encoded.history_windows
    turn_rewards = _rewards_of_turns(windows, rewards)
    data = Dataset(windows, encoded.inputs, turn_rewards=turn_rewards)
    rewarded = {row for row in range(len(data)) if not torch.isnan(turn_rewards[windows.offsets[row]])}
    train_rows = [row for row in rows_of_split(windows, episodes.splits, "train") if row in rewarded]
    validation_rows = [row for row in rows_of_split(windows, episodes.splits, "validation") if row in rewarded]
    if not train_rows and rows_of_split(windows, episodes.splits, "train"):
        raise UnitError(
            f"no training session has rewards of {method!r} to learn from: they held nothing to judge by, or "
            "are in the quarantine table. Leave the method out, or give it what it needs (faces, replies)."
        )
    mean, scale = mean_and_scale(
        np.concatenate([np.zeros(0), *(turn_rewards[_turns(windows, row)] for row in train_rows)])
    )
    model = RewardModel.new(settings, encoded.width, seed, encoded.backbone, mean, scale, score_offset)
    training = Training(model, TurnMSE(), data, (train_rows, validation_rows), settings, seed)
    history = train(training, progress, state)
    fit_baseline(model, data, train_rows)
    save_trained(training, history, episodes.all, out)
    return turn_values(windows, score_turns(model, data)._asdict(), method, taught_seed), history_table(history)


def mean_and_scale(targets: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[float, float]:
    """Mean and standard deviation of what is learnt; 1 where all are the same, or there are none."""
    if not len(targets):
        return 0.0, 1.0
    mean, sd = float(np.mean(targets)), float(np.std(targets))
    return mean, sd if sd > 1e-9 * max(1.0, abs(mean)) else 1.0


def _rewards_of_turns(windows: HistoryWindows, rewards: pa.Table) -> Tensor:
    """r_LI (N) float64, NaN in episodes that ``rewards`` does not hold."""
    places = row_places(rewards)
    values = rewards.column("reward").to_pylist()
    held = {key for key, _ in places}
    of_turns = [_reward(key, turn, places, values) if key in held else math.nan for key, turn in turn_keys(windows)]
    return torch.tensor(of_turns, dtype=torch.float64)


def _reward(
    key: EpisodeKey, turn: int, places: Mapping[tuple[EpisodeKey, int], int], values: Sequence[float | None]
) -> float:
    value = values[places[key, turn]] if (key, turn) in places else None
    if value is None or not math.isfinite(value):
        raise UnitError(
            f"session {key[0]}, turn {turn}: reward {value}; each turn of {key[2]} needs a finite one. "
            "Make the rewards again with `apportion run --only decompose`."
        )
    return value


def _turns(windows: HistoryWindows, row: int) -> slice:
    return slice(windows.offsets[row], windows.offsets[row + 1])


def save_trained(training: Training, history: Sequence[EpochRow], episodes: Iterable[Episode], out: Path) -> None:
    """Write the trained model into ``out``, with what its training turns were like and the figures of its card.

    ``episodes``: those of ``training.data``, for the languages that are spoken in them.
    """
    model, windows, (train_rows, held_out) = training.model, training.data.history_windows, training.rows
    if not held_out:  # Where nothing validates, one in five training sessions tells how far a turn may be.
        held_out = train_rows[4::5]
    language = {episode.key: episode.language for episode in episodes}
    learnt = sorted(set(train_rows) - set(held_out))
    turns = [turn for row in train_rows for turn in range(*windows.offsets[row : row + 2])]
    model.domain = Domain.of(
        _embedded(training, learnt, REFERENCE_BYTES // model.config.width),
        _embedded(training, held_out, HELD_OUT_TURNS),
        [windows.pairs[turn][1] for turn in turns],
        [language[windows.keys[row]] for row in train_rows],
    )
    model.save_pretrained(out, training_figures(history, training))


def _embedded(training: Training, rows: Sequence[int], most: int) -> NDArray[np.float32]:
    """At most ``most`` turns of some episodes, evenly over them, as the model embeds them [shape=(N, d)]."""
    windows = training.data.history_windows
    turns = np.array([turn for row in rows for turn in range(*windows.offsets[row : row + 2])], dtype=np.int64)
    chosen = torch.from_numpy(turns[evenly(len(turns), most)])
    found = [torch.zeros(0, training.model.config.width)]
    training.model.eval()
    with torch.inference_mode():
        for start in range(0, len(chosen), TURNS_AT_ONCE):
            found.append(training.data.inputs.embed(training.model, chosen[start : start + TURNS_AT_ONCE]))
    embeddings: NDArray[np.float32] = torch.cat(found).float().numpy()
    return embeddings


def training_figures(history: Sequence[EpochRow], training: Training) -> dict[str, float]:
    """What a model card says of the training: episodes, turns, epochs and losses."""
    train_rows, validation_rows = training.rows
    kept = best_epoch(history)
    figures = {
        "training episodes": float(len(train_rows)),
        "training turns": float(sum(training.data.length(row) for row in train_rows)),
        "validation episodes": float(len(validation_rows)),
        "trained weights": float(sum(weight.numel() for weight in trained_weights(training.model).values())),
        "epochs run": float(len(history)),
        "epoch kept": float(kept.epoch),
        "training loss": kept.train_loss,
    }
    return figures if kept.validation_loss is None else {**figures, "validation loss": kept.validation_loss}


def _single(rewards: pa.Table, column: str) -> Any:
    distinct = rewards.column(column).unique().to_pylist()
    if len(distinct) != 1:
        raise ValueError(f"a reward model is trained on the rewards of one {column}, not of {distinct}")
    return distinct[0]
