"""Distillation: any method's turn rewards into a reward model that reads text alone (LLM-GELI, section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from apportion.corpus.files.tablefile import Places, row_places
from apportion.corpus.session import EpisodeKey
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError
from apportion.foundation.progress import Progress
from apportion.reward_model.history_windows import HistoryWindows
from apportion.reward_model.learning.advantage import add_advantage
from apportion.reward_model.learning.calibration import level
from apportion.reward_model.learning.dataset import (
    Dataset,
    read_turns,
    rows_of_split,
    turn_keys,
    turn_values,
)
from apportion.reward_model.learning.domain import remember_domain
from apportion.reward_model.learning.loop import EpochRow, Training, trained_weights
from apportion.reward_model.learning.objective import TurnMSE
from apportion.reward_model.learning.training import (
    best_epoch,
    history_table,
    score_turns,
    train,
    unseen,
)
from apportion.reward_model.model import RewardModel
from apportion.reward_model.settings import RewardModelSettings


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a reward model is taught.

    ``rewards``: REWARDS schema, one method and one seed; a turn whose ``reward`` is null, and an episode that it does
    not hold, are scored, not learnt from. ``episodes``: ``train`` is learnt from, ``validation`` stops the training;
    all of them are scored. ``embeddings``: of all turns, for a frozen backbone
    (`apportion.reward_model.network.embed.embed_session`); made here where it is None. ``score_offset``: what a
    predicted session score adds to the sum of its rewards; None for values in units of their own, which the training
    sessions' scores bring to a level (`apportion.reward_model.learning.calibration`). ``unscored``: Sessions that
    nobody scored and that are learnt from beside those of ``train``; they get no scores, and set no level.
    """

    rewards: pa.Table
    episodes: SplitEpisodes
    embeddings: pa.Table | None = None
    score_offset: float | None = 0.0
    unscored: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Learnt:
    """A finished training, its epochs, and what it says of the N turns.

    ``unseen`` [shape=(N,)] is r_theta of each turn; of a training episode by those heads alone that did not learn from
    it (all of them where each did).
    """

    training: Training
    history: tuple[EpochRow, ...]
    unseen: Floats


class TrainedRewardModel(NamedTuple):
    """``scores`` (REWARDS schema) have ``reward``, ``sd`` and ``advantage`` of every turn; ``history`` has step
    (epoch), metric and value."""

    scores: pa.Table
    history: pa.Table
    score_offset: float


def train_reward_model(
    lesson: Lesson,
    settings: RewardModelSettings,
    seed: int,
    out: Path,
    progress: Progress,
    state: Path | None = None,
) -> TrainedRewardModel:
    """Train r_theta on turn rewards (Eq. 5), save it into ``out`` and score every target turn.

    Beside the network it gets the baseline of its states, and what a reply is worth that does not fit what it answers
    (`apportion.reward_model.learning.advantage`): both from the training and validation sessions. ``state``: A file for
    the state of the unfinished training (`apportion.reward_model.learning.training.train`).

    Raises UnitError: No training session, none with rewards, a reward that is not finite, or a loss that is not finite.
    InputError: The backbone cannot be loaded.
    """
    method, taught_seed = str(_single(lesson.rewards, "method")), int(_single(lesson.rewards, "seed"))
    learnt = learn(lesson, settings, seed, progress, state)
    training, values = learnt.training, learnt.unseen
    model, data = training.model, training.data
    figures = training_figures(learnt.history, training)
    if lesson.score_offset is None:
        keys = data.history_windows.keys
        scored = [row for row in training.rows[0] if keys[row][0] not in lesson.unscored]
        centre, factor, offset = level(data.history_windows, values, lesson.episodes, scored)
        values = factor * (values - centre)
        mean, scale = factor * (model.config.reward_mean - centre), factor * model.config.reward_scale
        update = {"reward_mean": mean, "reward_scale": scale, "score_offset": offset}
        model.config = model.config.model_copy(update=update)
    figures |= add_advantage(training, values, lesson.episodes.all, seed)
    remember_domain(training, lesson.episodes.all)
    model.save_pretrained(out, figures)
    scores = turn_values(data.history_windows, score_turns(model, data)._asdict(), method, taught_seed)
    if lesson.unscored:
        scores = scores.filter(pc.invert(pc.is_in(scores["session_id"], pa.array(sorted(lesson.unscored)))))
    return TrainedRewardModel(scores, history_table(learnt.history), model.config.score_offset)


def learn(
    lesson: Lesson, settings: RewardModelSettings, seed: int, progress: Progress, state: Path | None = None
) -> Learnt:
    """The network alone, as `train_reward_model` trains it; raises as that does."""
    method = str(_single(lesson.rewards, "method"))
    episodes = lesson.episodes
    encoded = read_turns(episodes.all, lesson.embeddings, settings)
    windows = encoded.history_windows
    turn_rewards = _rewards_of_turns(windows, lesson.rewards)
    data = Dataset(windows, encoded.inputs, turn_rewards=turn_rewards)
    rewarded = {row for row in range(len(data)) if not torch.isnan(turn_rewards[_turns(windows, row)]).all()}
    taught = rows_of_split(windows, episodes.splits, "train")
    taught += [row for row, key in enumerate(windows.keys) if key[0] in lesson.unscored]
    train_rows = [row for row in taught if row in rewarded]
    validation_rows = [row for row in rows_of_split(windows, episodes.splits, "validation") if row in rewarded]
    if not train_rows and taught:
        raise UnitError(
            f"no training session has rewards of {method!r} to learn from: they held nothing to judge by, or "
            "are in the quarantine table. Leave the method out, or give it what it needs (faces, replies)."
        )
    known = np.concatenate([np.zeros(0), *(turn_rewards[_turns(windows, row)] for row in train_rows)])
    mean, scale = mean_and_scale(known[~np.isnan(known)])
    model = RewardModel.new(settings, encoded.width, seed, encoded.backbone, mean, scale, lesson.score_offset or 0.0)
    training = Training(model, TurnMSE(), data, (train_rows, validation_rows), settings, seed)
    history = train(training, progress, state)
    return Learnt(training, history, unseen(training))


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
    of_turns = [_reward(key, turn, places, values) if key in places else math.nan for key, turn in turn_keys(windows)]
    return torch.tensor(of_turns, dtype=torch.float64)


def _reward(key: EpisodeKey, turn: int, places: Places, values: Sequence[float | None]) -> float:
    value = values[places[key][turn]] if turn in places[key] else None
    if turn not in places[key] or not math.isfinite(value or 0.0):
        raise UnitError(
            f"session {key[0]}, turn {turn}: reward {value}; each turn of {key[2]} needs a finite one, or a null where "
            "nothing is known of it. Make the rewards again with `apportion run --only decompose`."
        )
    return math.nan if value is None else value


def _turns(windows: HistoryWindows, row: int) -> slice:
    return slice(windows.offsets[row], windows.offsets[row + 1])


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
