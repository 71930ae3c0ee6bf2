"""Local values: what a judging method says of each turn, in units of reward, for an objective to learn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from apportion.corpus.session import Episode, EpisodeKey
from apportion.decompose.language_models import asker_of
from apportion.decompose.method import SessionMethod
from apportion.decompose.session_methods.runner import judge_episode
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError
from apportion.reward_model.history_windows import HistoryWindows
from apportion.reward_model.learning.dataset import turn_keys
from apportion.reward_model.learning.distillation import mean_and_scale


def local_values(
    method: SessionMethod,
    windows: HistoryWindows,
    episodes: Sequence[Episode],
    features: pa.Table | None,
    train_rows: Sequence[int],
    shares: Floats,
    settings: DecomposeSettings,
) -> Tensor:
    """The judgements of ``method`` with the mean and the spread that R~/T has over the training episodes.

    l_t = mean(R~/T) + sd(R~/T) * (j_t - mean j) / sd j, the constants of j over all training turns that have one. So
    neither part of a mixed loss drowns the other, whatever the units of the score. GELI's code leaves the values as
    they are.

    - ``features`` (pa.Table, optional): UTTERANCE_FEATURES schema, of all sessions, for a method that uses them.
    - ``shares`` (float64 [shape=(S,)]): R~/T of the training episodes.

    Returns Tensor: float64 [shape=(N,)], NaN where the method had nothing to say.

    Raises UnitError: No training turn has a judgement.
    """
    by_key = {episode.key: episode for episode in episodes}
    judged = _judged(method, [by_key[key] for key in windows.keys], features, settings)
    values = np.array([judged.get(pair, np.nan) for pair in turn_keys(windows)], dtype=np.float64)
    places = np.concatenate([np.zeros(0, int), *(np.arange(*windows.offsets[row : row + 2]) for row in train_rows)])
    known = values[places][np.isfinite(values[places])]
    if not known.size:
        raise UnitError(
            f"no training turn has a value of {method.name!r} to learn from: "
            + ("no recording shows the rater's face" if method.reads_features else "no rater replies to any")
            + ". Leave methods that mix with it out of decompose.compare."
        )
    mean, sd = mean_and_scale(known)
    centre, spread = (float(np.mean(shares)), float(np.std(shares)))
    return torch.from_numpy(centre + spread * (values - mean) / sd)


def without_values(
    method: SessionMethod, episodes: Sequence[Episode], features: pa.Table | None, settings: DecomposeSettings
) -> frozenset[EpisodeKey]:
    """The episodes of which ``method`` has nothing to say, so that their turns have no local value to learn from."""
    judged = {key for key, _ in _judged(method, episodes, features, settings)}
    return frozenset(episode.key for episode in episodes if episode.key not in judged)


def _judged(
    method: SessionMethod, episodes: Sequence[Episode], features: pa.Table | None, settings: DecomposeSettings
) -> Mapping[tuple[EpisodeKey, int], float]:
    """The judgements of ``method`` by episode and turn, where it has one."""
    behaviour = _by_session(features) if method.reads_features and features is not None else {}
    judged: dict[tuple[EpisodeKey, int], float] = {}
    with asker_of(settings) as asker:
        for episode in episodes:
            for judgement in judge_episode(method, episode, behaviour.get(episode.session_id), settings, asker):
                if judgement.value is not None:
                    judged[episode.key, judgement.turn] = judgement.value
    return judged


def _by_session(features: pa.Table) -> Mapping[str, pa.Table]:
    ordered = features.sort_by("session_id")
    names = ordered.column("session_id").to_numpy(zero_copy_only=False)
    if not len(names):
        return {}
    starts = np.flatnonzero(np.concatenate([[True], names[1:] != names[:-1]]))
    ends = [*starts[1:], len(names)]
    return {str(names[a]): ordered.slice(a, b - a) for a, b in zip(starts, ends, strict=True)}
