"""Fitting: a decomposer that is learned from the scores of many dialogues."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from corpus.session import Episode
from decompose.identity import configured
from decompose.learning.local_values import local_values
from decompose.learning.network import Task, network_of, rewards_of
from decompose.methods import Method, find_method
from decompose.settings import DecomposeSettings
from foundation.arrays import Floats
from foundation.errors import InputError, UnitError
from foundation.progress import Progress
from reward_model.dataset import Dataset, read_turns, rows_of_split, turn_values
from reward_model.history_windows import HistoryWindows
from reward_model.loop import Training
from reward_model.objective import Batch, Objective
from reward_model.settings import RewardModelSettings
from reward_model.training import history_table, predict, train


def fit_decomposer(
    method: str,
    episodes: Sequence[Episode],
    splits: pa.Table,
    embeddings: pa.Table | None,
    settings: DecomposeSettings,
    model_settings: RewardModelSettings,
    seed: int,
    progress: Progress,
    features: pa.Table | None = None,
    reactions: pa.Table | None = None,
    state: Path | None = None,
    judgements: pa.Table | None = None,
) -> tuple[pa.Table, pa.Table]:
    """Learn one method's turn rewards from the training sessions' scores, and judge every target turn.

    R~, which an objective learns from, is what ``settings.target`` says that rewards sum to: the score less the mean of
    the training scores, or the score itself.

    Parameters
    ----------
    method : str
        The name of a method of kind ``fit``; its code is called with its section of ``settings`` (with nothing where
        it has none) and gives an `Objective`. A mixed one is called with the objective of its global part first.
    splits : pa.Table
        SPLITS schema: ``train`` is learnt from, ``validation`` stops the training.
    embeddings : pa.Table, optional
        Of all turns, for a frozen backbone (`reward_model.embed.embed_session`); made here where it is None.
    features : pa.Table, optional
        UTTERANCE_FEATURES schema, of all sessions; read where the local part of a mixed objective uses them,
        and as a part of reactions.
    reactions : pa.Table, optional
        Of all sessions (`decompose.reactions.read.read_session`), for a method that ``uses_reactions``.
    state : Path, optional
        A file for the state of the unfinished training (`reward_model.training.train`).
    judgements : pa.Table, optional
        REWARDS schema: what the local method has judged, for a method that ``uses_judgements``.

    Returns
    -------
    judgements : pa.Table
        REWARDS schema with ``raw_reward`` in units of the score, for every episode with target turns.
    history : pa.Table
        step (epoch), metric, value.

    Raises
    ------
    InputError
        No such method, one that is not fitted, or nothing can work before a setting is changed.
    UnitError
        No training session, a score or loss that is not finite, no local value for any training turn.
    """
    declared = find_method(method)
    if declared.uses_judgements:
        whole = find_method(declared.whole or "")
        fitted = _from_reactions(whole, episodes, splits, reactions, settings, seed, features)
        return _blended(declared, episodes, splits, fitted, judgements, settings, seed)
    if declared.uses_reactions:
        return _from_reactions(declared, episodes, splits, reactions, settings, seed, features)
    objective = _objective(declared, settings)
    reading = read_turns(episodes, embeddings, model_settings)
    windows = reading.history_windows
    train_rows = rows_of_split(windows, splits, "train")
    validation_rows = rows_of_split(windows, splits, "validation")
    mean, scores = _mean_and_scores(windows, episodes, train_rows)
    # R~ is what the rewards shall sum to: learned any other way, they would miss it by the mean.
    expected = mean if settings.target == "score" else 0.0
    returns = scores - (mean - expected)
    lengths = np.diff(windows.offsets).astype(np.float64)
    turn_rewards = None
    if declared.local is not None and train_rows:
        shares = (returns / lengths)[train_rows]
        turn_rewards = local_values(
            find_method(declared.local), windows, episodes, features, train_rows, shares, settings
        )
    network = network_of(
        objective, Task(reading, model_settings, seed, returns[train_rows], lengths[train_rows], expected)
    )
    data = Dataset(windows, network.inputs, torch.from_numpy(returns), turn_rewards, expected)
    training = Training(network.model, objective, data, (train_rows, validation_rows), model_settings, seed)
    history = train(training, progress, state)
    everything = Batch(
        torch.tensor(windows.offsets), torch.from_numpy(lengths), torch.from_numpy(returns), turn_rewards, expected
    )
    rewards = rewards_of(objective, torch.from_numpy(predict(network.model, data)), everything)
    return turn_values(windows, "raw_reward", rewards.tolist(), method, seed), history_table(history)


def _from_reactions(
    method: Method,
    episodes: Sequence[Episode],
    splits: pa.Table,
    reactions: pa.Table | None,
    settings: DecomposeSettings,
    seed: int,
    features: pa.Table | None,
) -> tuple[pa.Table, pa.Table]:
    """A closed fit: its code takes the reactions and gives judgements and history itself."""
    if reactions is None:
        raise UnitError(
            f"method {method.name!r}: no reaction was read of any session. Look in the quarantine table for the cause."
        )
    section = settings.section_of(method)
    fit = method.resolve()
    fitted: tuple[pa.Table, pa.Table] = fit(method.name, episodes, splits, reactions, section, seed, features)
    return fitted


def _blended(
    method: Method,
    episodes: Sequence[Episode],
    splits: pa.Table,
    fitted: tuple[pa.Table, pa.Table],
    judgements: pa.Table | None,
    settings: DecomposeSettings,
    seed: int,
) -> tuple[pa.Table, pa.Table]:
    """A closed fit and its history, put together with what its local method has judged."""
    if judgements is None:
        raise UnitError(
            f"method {method.name!r}: {method.local} has judged no session. Look in the quarantine table for the cause."
        )
    section = settings.section_of(method)
    blend = method.resolve()
    null = configured(find_method(method.local or ""), settings).null
    blended: tuple[pa.Table, pa.Table] = blend(method.name, episodes, splits, *fitted, judgements, section, seed, null)
    return blended


def _objective(method: Method, settings: DecomposeSettings) -> Objective:
    if method.kind != "fit":
        raise InputError(f"method {method.name!r} is not learned on a corpus: it judges one session at a time.")
    load = method.resolve()
    parts: list[object] = [] if method.whole is None else [_objective(find_method(method.whole), settings)]
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
