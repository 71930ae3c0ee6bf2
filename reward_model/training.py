"""The one loop that trains a reward model, whatever the objective."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from corpus.schema import HISTORY
from foundation.errors import UnitError
from foundation.processes import Team
from reward_model.dataset import Dataset
from reward_model.model import RewardModel
from reward_model.objective import Batch, Objective
from reward_model.settings import RewardModelSettings
from reward_model.training_state import fingerprint, read_state, write_state

Progress = Callable[[int, int, str], None]
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
    state: Path | None = None,
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
    state : Path, optional
        A file that is written after each epoch. Where one of the same training is found, it goes on from there and
        ends with the same bits as if it had never stopped.

    Returns
    -------
    tuple of EpochRow
        One an epoch that was run.

    Raises
    ------
    UnitError
        No training episode, a loss that is not finite, or a process that was killed.
    InputError
        A device that is not there, or more processes than devices.
    """
    if not train_rows:
        raise UnitError(
            "no training session has turns of its target to learn from. Give split.train a larger share, or look for "
            "what kept the sessions out in the quarantine table."
        )
    rows = (train_rows, validation_rows)
    if settings.processes > 1:
        from reward_model.several_processes import train_together

        return train_together(model, objective, data, rows, settings, seed, progress, state)
    return training_loop(model, objective, data, rows, settings, seed, progress, state, Team())


def training_loop(
    model: RewardModel,
    objective: Objective,
    data: Dataset,
    rows: tuple[Sequence[int], Sequence[int]],
    settings: RewardModelSettings,
    seed: int,
    progress: Progress,
    state: Path | None,
    team: Team,
) -> tuple[EpochRow, ...]:
    """`train` as one process of ``team`` does it; ``rows`` are those to train on and those to validate on."""
    train_rows, validation_rows = rows
    run = _Run(model, _optimizer(model, settings), torch.Generator().manual_seed(seed), team)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + team.rank)
        mark = "" if state is None else fingerprint(objective, data, train_rows, validation_rows, settings, seed)
        if state is not None and (found := read_state(state, mark)) is not None:
            run.restore(found)
            progress(run.epoch, settings.epochs, f"going on after epoch {run.epoch}")
        while run.epoch < settings.epochs and run.epoch - run.best_epoch < settings.patience:
            epoch = run.epoch + 1
            train_loss = _train_epoch(run, objective, data, train_rows, settings, epoch)
            validation_loss = _measure(run, objective, data, validation_rows, settings, epoch)
            run.end_epoch(EpochRow(epoch, train_loss, validation_loss))
            progress(epoch, settings.epochs, _described(run.history[-1]))
            if state is not None:
                kept = run.state(mark)
                if team.rank == 0:
                    write_state(state, kept)
    model.load_state_dict(run.best_weights, strict=False)
    model.eval()
    return tuple(run.history)


class _Run:
    """Everything that changes while a model is trained."""

    def __init__(
        self, model: RewardModel, optimizer: torch.optim.Optimizer, generator: torch.Generator, team: Team
    ) -> None:
        self.model, self.optimizer, self.generator, self.team = model, optimizer, generator, team
        self.history: list[EpochRow] = []
        self.best, self.best_epoch, self.best_weights = math.inf, 0, _copy(trained_weights(model))

    @property
    def epoch(self) -> int:
        """Epochs that are finished."""
        return len(self.history)

    def end_epoch(self, row: EpochRow) -> None:
        """Remember an epoch, and its weights where they are the best so far."""
        self.history.append(row)
        if row.validation_loss is None or row.validation_loss < self.best:
            self.best = math.inf if row.validation_loss is None else row.validation_loss
            self.best_epoch, self.best_weights = row.epoch, _copy(trained_weights(self.model))

    def state(self, mark: str) -> dict[str, Any]:
        """All of it as tensors and numbers; ``mark`` says which training it belongs to."""
        return {
            "fingerprint": mark,
            "weights": trained_weights(self.model),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "random": self.team.gather(torch.get_rng_state()),
            "history": [(row.epoch, row.train_loss, row.validation_loss) for row in self.history],
            "best": (self.best, self.best_epoch),
            "best_weights": self.best_weights,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a `state`, random numbers included."""
        self.model.load_state_dict(state["weights"], strict=False)
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        # A copy: torch 2.13 dies on a state that does not begin where its storage begins.
        torch.set_rng_state(state["random"][self.team.rank].clone())
        self.history = [EpochRow(*row) for row in state["history"]]
        self.best, self.best_epoch = state["best"]
        self.best_weights = state["best_weights"]


def trained_weights(model: RewardModel) -> dict[str, Tensor]:
    """The weights that training changes, by name."""
    return {name: weight.detach() for name, weight in model.named_parameters() if weight.requires_grad}


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
    return pa.Table.from_pylist(rows, schema=HISTORY.arrow)


def _optimizer(model: RewardModel, settings: RewardModelSettings) -> torch.optim.Optimizer:
    head = list(model.head.parameters())
    known = {id(parameter) for parameter in head}
    backbone = [p for p in model.parameters() if p.requires_grad and id(p) not in known]
    groups = [{"params": head, "lr": settings.lr}, {"params": backbone, "lr": settings.lr_backbone}]
    return torch.optim.AdamW([group for group in groups if group["params"]], weight_decay=settings.weight_decay)


def _train_epoch(
    run: _Run, objective: Objective, data: Dataset, rows: Sequence[int], settings: RewardModelSettings, epoch: int
) -> float:
    model, team = run.model, run.team
    model.train()
    total = torch.zeros(2, dtype=torch.float64)
    order = torch.randperm(len(rows), generator=run.generator).tolist()
    for start in range(0, len(order), settings.batch):
        chosen = [rows[place] for place in order[start : start + settings.batch]]
        sampled = [objective.sample(data.length(row), run.generator) for row in chosen]
        losses = _losses(model, objective, data, team.share(chosen), team.share(sampled), settings, epoch)
        terms = team.sum(torch.tensor(len(losses)))
        run.optimizer.zero_grad()
        if len(losses):
            # In units of the model's own scale, a step does not depend on the units of the scores.
            torch.autograd.backward(losses.sum() / terms / model.config.reward_scale**2)
        team.sum_gradients(model.parameters())
        torch.nn.utils.clip_grad_norm_(model.parameters(), LARGEST_GRADIENT)
        run.optimizer.step()
        total += _sum_and_count(losses)
    return _mean(team.sum(total))


def _measure(
    run: _Run, objective: Objective, data: Dataset, rows: Sequence[int], settings: RewardModelSettings, epoch: int
) -> float | None:
    """The mean loss of the validation episodes, None where there are none."""
    if not rows:
        return None
    run.model.eval()
    total = torch.zeros(2, dtype=torch.float64)
    with torch.inference_mode():
        for row in run.team.share(rows):
            everything = [torch.arange(data.length(row))]
            total += _sum_and_count(_losses(run.model, objective, data, [row], everything, settings, epoch))
    return _mean(run.team.sum(total))


def _sum_and_count(losses: Tensor) -> Tensor:
    return torch.stack([losses.detach().double().sum(), torch.tensor(len(losses), dtype=torch.float64)])


def _mean(sum_and_count: Tensor) -> float:
    return float(sum_and_count[0] / sum_and_count[1])


def _losses(
    model: RewardModel,
    objective: Objective,
    data: Dataset,
    rows: Sequence[int],
    sampled: Sequence[Tensor],
    settings: RewardModelSettings,
    epoch: int,
) -> Tensor:
    if not rows:
        return torch.zeros(0)  # A process whose share of a small batch is nothing.
    positions, batch = data.batch(rows, sampled)
    mixed = settings.precision == "bfloat16" and not settings.freeze_backbone
    with torch.autocast(settings.device, torch.bfloat16, enabled=mixed):
        predicted = data.inputs.predict(model, positions)
    losses = objective.loss(predicted.float(), batch)
    finite = torch.isfinite(losses)
    if not bool(finite.all()):
        term = int(torch.nonzero(~finite)[0])
        row = rows[_episode_of(term, len(losses), batch)]
        raise UnitError(
            f"{objective.name}, epoch {epoch}, session {data.windows.keys[row][0]}: the loss is {losses[term]:g}, not "
            "a finite number. Look at that session's score and turn rewards; if they are right, lower train_reward.lr "
            "(and lr_backbone)."
        )
    return losses


def _episode_of(term: int, terms: int, batch: Batch) -> int:
    """The place in the batch of a loss term's episode: there is one term an episode, or one a turn."""
    return term if terms == len(batch.lengths) else int(batch.episode[term])


def _copy(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in weights.items()}


def _described(row: EpochRow) -> str:
    text = f"epoch {row.epoch}: loss {row.train_loss:.4g}"
    return text if row.validation_loss is None else f"{text}, validation {row.validation_loss:.4g}"
