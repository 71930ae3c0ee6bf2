"""Training a reward model, whatever the objective, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from apportion.corpus.schema import HISTORY
from apportion.foundation.arrays import Floats
from apportion.foundation.distributed import Processes
from apportion.foundation.errors import UnitError
from apportion.foundation.progress import Progress
from apportion.reward_model.learning.data_parallel import train_distributed
from apportion.reward_model.learning.dataset import Dataset
from apportion.reward_model.learning.loop import EpochRow, Training, training_loop
from apportion.reward_model.model import RewardModel, TurnScores

TURNS_AT_ONCE = 1024


def train(training: Training, progress: Progress, state: Path | None = None) -> tuple[EpochRow, ...]:
    """Train ``training.model`` in place; it ends with the weights of the epoch of least validation loss.

    AdamW over batches of whole episodes. After each epoch the objective is measured on the validation episodes, all
    their turns, dropout off; training stops when that has not become better for ``settings.patience`` epochs. Without
    validation episodes all epochs are run and the last weights kept. The same training and number of torch threads
    give the same bits; the caller's random numbers are left alone.

    ``training``: Model, objective, data and how; ``settings.processes`` processes share each batch. ``progress``:
    Called as ``progress(epoch, epochs, text)``. ``state``: A file that is written after each epoch. Where one of the
    same training is found, it goes on from there and ends with the same bits as if it had never stopped. Returns: One
    an epoch that was run. Raises UnitError: No training episode, a loss that is not finite, or a process that was
    killed. Raises InputError: A device that is not there, or more processes than devices.
    """
    train_rows, _ = training.rows
    if not train_rows:
        raise UnitError(
            "no training session has turns of its target to learn from. Give split.train a larger share, or look for "
            "what kept the sessions out in the quarantine table."
        )
    if training.settings.processes > 1:
        return train_distributed(training, progress, state)
    return training_loop(training, progress, state, Processes())


def predict(model: RewardModel, data: Dataset) -> Floats:
    """r_theta [shape=(N,)] of every turn of ``data``, dropout off."""
    rewards: Floats = predict_members(model, data).mean(axis=1)
    return rewards


def predict_members(model: RewardModel, data: Dataset) -> Floats:
    """What each head says [shape=(N, E)] of every turn of ``data``, dropout off."""
    model.eval()
    with torch.inference_mode():
        parts = [data.inputs.members(model, turns).double().numpy() for turns in _in_parts(data)]
    return np.concatenate(parts) if parts else np.zeros((0, model.config.members))


def unseen(training: Training) -> Floats:
    """r_theta [shape=(N,)] of every turn by heads that did not learn from its session; by all where each did."""
    members, counts = predict_members(training.model, training.data), training.bootstraps().numpy()
    values: Floats = members.mean(axis=1)
    offsets = training.data.history_windows.offsets
    for row in training.rows[0]:
        left_out = counts[:, row] == 0
        if left_out.any():
            turns = slice(offsets[row], offsets[row + 1])
            values[turns] = members[turns][:, left_out].mean(axis=1)
    return values


def score_turns(model: RewardModel, data: Dataset) -> TurnScores:
    """Reward, sd and advantage of every turn of ``data`` (N), dropout off."""
    model.eval()
    windows, embed = data.history_windows, data.inputs.embed
    pairs, places = windows.pairs, windows.places
    parts = [TurnScores(np.zeros(0), np.zeros(0), np.zeros(0))]
    with torch.inference_mode(), model.hurried():
        contexts = None if model.has_context or model.baseline is None else model.context(pairs)
        for turns in _in_parts(data):
            own = slice(int(turns[0]), int(turns[-1]) + 1)
            embedded = embed(model, turns)
            read = model.contexts_of(embedded, ()) if contexts is None else contexts[own]
            parts.append(model.scores(embedded, read, places[own]))
    return TurnScores(*map(np.concatenate, zip(*parts, strict=True)))


def _in_parts(data: Dataset) -> tuple[Tensor, ...]:
    turns = torch.arange(data.history_windows.offsets[-1])
    return torch.split(turns, TURNS_AT_ONCE) if len(turns) else ()


def best_epoch(history: Sequence[EpochRow]) -> EpochRow:
    """The epoch whose weights were kept: the first of least validation loss, or the last where there was none."""
    measured = [row for row in history if row.validation_loss is not None]
    return min(measured, key=lambda row: row.validation_loss or 0.0) if measured else history[-1]


def history_table(history: Sequence[EpochRow]) -> pa.Table:
    """The history as rows of step (epoch), metric and value."""
    rows = [
        {"step": row.epoch, "metric": metric, "value": value}
        for row in history
        for metric, value in (("train loss", row.train_loss), ("validation loss", row.validation_loss))
        if value is not None
    ]
    return pa.Table.from_pylist(rows, schema=HISTORY.arrow)
