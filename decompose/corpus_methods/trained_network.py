"""What a corpus gives to learn from, and the network of an objective, trained on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from apportion.corpus.session import Episode, EpisodeKey
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.corpus_methods.local_values import local_values
from apportion.decompose.corpus_methods.objectives import Task, network_of, rewards_of
from apportion.decompose.method import CorpusMethod, Method, MixedObjective
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.progress import Progress
from apportion.reward_model.history_windows import HistoryWindows
from apportion.reward_model.learning.dataset import Dataset, read_turns, rows_of_split
from apportion.reward_model.learning.loop import EpochRow, Training
from apportion.reward_model.learning.objective import Batch, Objective
from apportion.reward_model.learning.training import predict, train
from apportion.reward_model.settings import RewardModelSettings


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What a corpus gives to learn from.

    - ``episodes``: ``train`` is learnt from, ``validation`` stops the training; all of them are judged.
    - ``embeddings`` (pa.Table, optional): Of all turns, for a frozen backbone
      (`apportion.reward_model.network.embed.embed_session`); made where it is None.
    - ``features`` (pa.Table, optional): UTTERANCE_FEATURES schema, of all sessions; read where the local part of a
      mixed objective uses them, and as a part of reactions.
    - ``reactions`` (pa.Table, optional): Of all sessions (`apportion.decompose.reactions.extract.read_session`), for a
      method that reads them.
    - ``judgements`` (pa.Table, optional): REWARDS schema: what the local method has judged, for a
      `StudentMethod` or a `StackedMethod`.
    - ``asked`` (int, optional): How many sessions were chosen to be judged for all
      (`apportion.decompose.ensembling.active_selection`); None where all are.
    - ``labels`` (pa.Table, optional): TURN_LABELS schema: what people said of turns of training sessions, one value a
      turn, for a `LabelStudent` and for a mix of which it is a part. No other label is in here.
    """

    episodes: SplitEpisodes
    embeddings: pa.Table | None = None
    features: pa.Table | None = None
    reactions: pa.Table | None = None
    judgements: pa.Table | None = None
    asked: int | None = None
    labels: pa.Table | None = None

    def opinions_of_people(self) -> dict[EpisodeKey, Floats]:
        """What people said of target turns of training sessions [shape=(T,)], NaN where nothing; unlabelled are out."""
        rows = [] if self.labels is None else self.labels.select(["session_id", "turn", "value"]).to_pylist()
        said = {(row["session_id"], row["turn"]): row["value"] for row in rows}
        found = {
            episode.key: np.array([said.get((episode.session_id, turn), math.nan) for turn in episode.target_turns])
            for episode in self.episodes.of("train")
        }
        return {key: values for key, values in found.items() if np.isfinite(values).any()}

    def check_read(self, method: str, judge: str | None = None) -> None:
        """Raise UnitError where no reaction was read, or ``judge`` has judged no session."""
        what = "no reaction was read of any session" if self.reactions is None else None
        if what is None and judge is not None and self.judgements is None:
            what = f"{judge} has judged no session"
        if what is not None:
            raise UnitError(f"method {method!r}: {what}. Look in the quarantine table for the cause.")


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of the decomposition and of the network that learns it, and the seed of both."""

    settings: DecomposeSettings
    model: RewardModelSettings
    seed: int


@dataclass(frozen=True)
class TrainedDecomposer:
    """A finished training, its epochs, and what R~ left out of the scores."""

    training: Training
    history: tuple[EpochRow, ...]
    score_offset: float

    @property
    def history_windows(self) -> HistoryWindows:
        """The S episodes and their N target turns."""
        return self.training.data.history_windows

    def rewards(self, *, scores_known: bool) -> list[float]:
        """r of the N turns: with what the episodes' own scores add to it (RUDDER's remainder), or from text alone."""
        data = self.training.data
        offsets = torch.tensor(data.history_windows.offsets)
        lengths = torch.diff(offsets).to(torch.float64)
        known = (data.returns, data.turn_rewards) if scores_known else (None, None)
        predicted = torch.from_numpy(predict(self.training.model, data))
        batch = Batch(offsets, lengths, *known, expected=data.expected)
        values: list[float] = rewards_of(self.training.objective, predicted, batch).tolist()
        return values


def learned(
    method: Method, data: TrainingData, config: TrainingConfig, progress: Progress, state: Path | None = None
) -> TrainedDecomposer:
    """Train the network of ``method``, an objective, as `decompose.corpus_methods.fit.fit_decomposer` describes.

    Raises InputError: The method is no objective, or nothing can work before a setting is changed. UnitError: No
    training session, a score or loss that is not finite, no local value for any training turn.
    """
    objective = _objective(method, config.settings)
    reading = read_turns(data.episodes.all, data.embeddings, config.model)
    windows = reading.history_windows
    train_rows = rows_of_split(windows, data.episodes.splits, "train")
    validation_rows = rows_of_split(windows, data.episodes.splits, "validation")
    mean, scores = _mean_and_scores(windows, data.episodes.all, train_rows)
    # R~ is what the rewards shall sum to: learned any other way, they would miss it by the mean.
    expected = mean if config.settings.target == "score" else 0.0
    offset = mean - expected
    returns = scores - offset
    lengths = np.diff(windows.offsets).astype(np.float64)
    turn_rewards = None
    if isinstance(method, MixedObjective) and train_rows:
        shares = (returns / lengths)[train_rows]
        turn_rewards = local_values(
            method.local, windows, data.episodes.all, data.features, train_rows, shares, config.settings
        )
    of_training = returns[train_rows], lengths[train_rows]
    network = network_of(objective, Task(reading, config.model, config.seed, *of_training, expected, offset))
    dataset = Dataset(windows, network.inputs, torch.from_numpy(returns), turn_rewards, expected)
    training = Training(network.model, objective, dataset, (train_rows, validation_rows), config.model, config.seed)
    return TrainedDecomposer(training, train(training, progress, state), offset)


def _objective(method: Method, settings: DecomposeSettings) -> Objective:
    if not isinstance(method, CorpusMethod):
        raise InputError(f"method {method.name!r} is not learned on a corpus: it judges one session at a time.")
    load = method.resolve()
    parts: list[object] = [_objective(method.whole, settings)] if isinstance(method, MixedObjective) else []
    if method.section is not None:
        parts.append(settings.section_of(method))
    objective: Objective = load(*parts)
    return objective


def _mean_and_scores(
    windows: HistoryWindows, episodes: Sequence[Episode], train_rows: Sequence[int]
) -> tuple[float, Floats]:
    """The mean of the training scores, and the score of each episode [shape=(S,)]."""
    scores = {episode.key: episode.score for episode in episodes}
    for key, score in scores.items():
        if not math.isfinite(score):
            raise UnitError(f"session {key[0]}: score {score}; it must be finite. Correct it in `ratings`.")
    mean = math.fsum(scores[windows.keys[row]] for row in train_rows) / max(1, len(train_rows))
    return mean, np.array([scores[key] for key in windows.keys], dtype=np.float64)
