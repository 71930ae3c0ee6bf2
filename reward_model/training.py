"""The one loop that trains a reward model, whatever the objective."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from corpus.errors import UnitError
from reward_model.dataset import Dataset
from reward_model.model import RewardModel
from reward_model.objective import Batch, Objective
from reward_model.settings import RewardModelSettings

Progress = Callable[[int, int, str], None]
HISTORY = pa.schema([("step", pa.int32()), ("metric", pa.string()), ("value", pa.float64())])
LARGEST_GRADIENT = 1.0
TURNS_AT_ONCE = 1024


@dataclass(frozen=True)
class EpochRow:
    """One epoch: mean loss terms, in squared units of reward; ``validation_loss`` None without validation sessions."""

    epoch: int
    train_loss: float
    validation_loss: float | None


def train(
    model: RewardModel,
    objective: Objective,
    data: Dataset,
    train_rows: Sequence[int],
    validation_rows: Sequence[int],
    settings: RewardModelSettings,
    seed: int,
    progress: Progress,
) -> tuple[EpochRow, ...]:
    """Train ``model`` in place; it ends with the weights of the epoch of least validation loss.

    AdamW over batches of whole episodes. After each epoch the objective is measured on the validation episodes, all
    their turns, dropout off; training stops when that has not become better for ``settings.patience`` epochs. Without
    validation episodes all epochs are run and the last weights kept. The same arguments and number of torch threads
    give the same bits; the caller's random numbers are left alone.

    Parameters
    ----------
    data : Dataset
        S episodes; ``train_rows`` and ``validation_rows`` are places in it.
    progress : callable
        Called as ``progress(epoch, epochs, text)``.

    Returns
    -------
    tuple of EpochRow
        One an epoch that was run.

    Raises
    ------
    UnitError
        No training episode, or a loss that is not finite.
    """
    if not train_rows:
        raise UnitError(
            "no training session has turns of its target to learn from. Give split.train a larger share, or look for "
            "what kept the sessions out in the quarantine table."
        )
    optimizer = _optimizer(model, settings)
    generator = torch.Generator().manual_seed(seed)
    history: list[EpochRow] = []
    best, best_weights, best_epoch = math.inf, _copy(model), 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for epoch in range(1, settings.epochs + 1):
            train_loss = _train_epoch(model, objective, data, train_rows, settings.batch, optimizer, generator, epoch)
            validation_loss = _measure(model, objective, data, validation_rows, epoch) if validation_rows else None
            history.append(EpochRow(epoch, train_loss, validation_loss))
            progress(epoch, settings.epochs, _described(history[-1]))
            if validation_loss is None or validation_loss < best:
                best = math.inf if validation_loss is None else validation_loss
                best_weights, best_epoch = _copy(model), epoch
            elif epoch - best_epoch >= settings.patience:
                break
    model.load_state_dict(best_weights)
    model.eval()
    return tuple(history)


def predict(model: RewardModel, data: Dataset) -> NDArray[np.float64]:
    """r_theta [shape=(N,)] float64 of every turn of ``data``, dropout off."""
    model.eval()
    turns = torch.arange(data.windows.offsets[-1])
    with torch.inference_mode():
        parts = [
            data.inputs.predict(model, turns[start : start + TURNS_AT_ONCE]).numpy()
            for start in range(0, len(turns), TURNS_AT_ONCE)
        ]
    return np.concatenate([np.zeros(0), *parts]).astype(np.float64)


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
    return pa.Table.from_pylist(rows, schema=HISTORY)


def _optimizer(model: RewardModel, settings: RewardModelSettings) -> torch.optim.Optimizer:
    head = list(model.head.parameters())
    known = {id(parameter) for parameter in head}
    backbone = [p for p in model.parameters() if p.requires_grad and id(p) not in known]
    groups = [{"params": head, "lr": settings.lr}, {"params": backbone, "lr": settings.lr_backbone}]
    return torch.optim.AdamW([group for group in groups if group["params"]], weight_decay=settings.weight_decay)


def _train_epoch(
    model: RewardModel,
    objective: Objective,
    data: Dataset,
    rows: Sequence[int],
    size: int,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
    epoch: int,
) -> float:
    model.train()
    terms = []
    order = torch.randperm(len(rows), generator=generator).tolist()
    for start in range(0, len(order), size):
        chosen = [rows[place] for place in order[start : start + size]]
        sampled = [objective.sample(data.length(row), generator) for row in chosen]
        losses = _losses(model, objective, data, chosen, sampled, epoch)
        optimizer.zero_grad()
        # In units of the model's own scale, a step does not depend on the units of the scores.
        torch.autograd.backward(losses.mean() / model.config.reward_scale**2)
        torch.nn.utils.clip_grad_norm_(model.parameters(), LARGEST_GRADIENT)
        optimizer.step()
        terms.append(losses.detach())
    return float(torch.cat(terms).double().mean())


def _measure(model: RewardModel, objective: Objective, data: Dataset, rows: Sequence[int], epoch: int) -> float:
    model.eval()
    terms = []
    with torch.inference_mode():
        for row in rows:
            terms.append(_losses(model, objective, data, [row], [torch.arange(data.length(row))], epoch))
    return float(torch.cat(terms).double().mean())


def _losses(
    model: RewardModel, objective: Objective, data: Dataset, rows: Sequence[int], sampled: Sequence[Tensor], epoch: int
) -> Tensor:
    positions, batch = data.batch(rows, sampled)
    losses = objective.loss(data.inputs.predict(model, positions), batch)
    finite = torch.isfinite(losses)
    if not bool(finite.all()):
        term = int(torch.nonzero(~finite)[0])
        row = rows[_episode_of(term, len(losses), batch)]
        raise UnitError(
            f"{objective.name}, epoch {epoch}, session {data.windows.keys[row][0]}: the loss is {losses[term]:g}, not "
            "a finite number. Look at that session's score and labels; if they are right, lower train_reward.lr "
            "(and lr_backbone)."
        )
    return losses


def _episode_of(term: int, terms: int, batch: Batch) -> int:
    """The place in the batch of a loss term's episode: there is one term an episode, or one a turn."""
    return term if terms == len(batch.lengths) else int(batch.episode[term])


def _copy(model: RewardModel) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def _described(row: EpochRow) -> str:
    text = f"epoch {row.epoch}: loss {row.train_loss:.4g}"
    return text if row.validation_loss is None else f"{text}, validation {row.validation_loss:.4g}"
