"""The loop itself: epochs over whole episodes, as one process or one of several runs it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from apportion.foundation.distributed import Processes
from apportion.foundation.errors import UnitError
from apportion.foundation.files import write_atomically
from apportion.foundation.progress import Progress
from apportion.reward_model.learning.dataset import Dataset
from apportion.reward_model.learning.objective import Batch, Objective
from apportion.reward_model.model import RewardModel
from apportion.reward_model.settings import RewardModelSettings


def write_state(path: Path, state: dict[str, Any]) -> None:
    """Replace the state at ``path`` at once: a kill leaves the old one or the new one."""
    write_atomically(path, partial(torch.save, state))


def read_state(path: Path, expected: str) -> dict[str, Any] | None:
    """The state at ``path``; None where there is none, a damaged one, or that of another training.

    It is our own file, and all the same read without running anything that is pickled in it.
    """
    try:
        state: Any = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        return None
    except Exception:  # Whatever torch finds wrong with a damaged file: the training starts anew.
        return None
    return state if isinstance(state, dict) and state.get("fingerprint") == expected else None


LARGEST_GRADIENT = 1.0
STATE_VERSION = 1


@dataclass(frozen=True)
class Training:
    """What is trained, on what and how.

    ``model``: Changed in place. ``objective``: What it is trained for. ``data``: S episodes. ``rows``: The places in
    ``data`` of the episodes to train on, and of those to validate on. ``settings``: Batches, step sizes, epochs,
    processes. ``seed``: Of the batches' order, the sampled turns, dropout and the bootstraps.
    """

    model: RewardModel
    objective: Objective
    data: Dataset
    rows: tuple[Sequence[int], Sequence[int]]
    settings: RewardModelSettings
    seed: int

    def bootstraps(self) -> Tensor:
        """How often each head counts each of the S episodes (members, S) float: a bootstrap of the training sessions
        each.

        The first head of a reader counts every one of them once: alone, it is a model without an ensemble. All episodes
        of a session count alike: they have the same turns.
        """
        (train_rows, _), heads = self.rows, self.model.config.heads
        sessions = [self.data.history_windows.keys[row][0] for row in train_rows]
        place_of = {session: place for place, session in enumerate(dict.fromkeys(sessions))}
        number = len(place_of)
        drawn = np.random.default_rng(self.seed).multinomial(number, np.full(number, 1 / number), heads - 1)
        of_session = torch.from_numpy(np.concatenate([np.ones((1, number)), drawn])).float()
        counts = torch.zeros(heads, len(self.data))
        counts[:, list(train_rows)] = of_session[:, [place_of[session] for session in sessions]]
        return counts.repeat(self.model.config.members // heads, 1)

    def fingerprint(self) -> str:
        """sha256 of what the result depends on: the state of another training must not be gone on from."""
        windows, (train_rows, validation_rows) = self.data.history_windows, self.rows
        facts = [
            STATE_VERSION,
            self.settings.model_dump(exclude={"objective"}),
            self.seed,
            torch.get_num_threads(),
            self.objective.name,
        ]
        facts += [dict(self.objective.hyper_parameters), windows.keys, windows.turns]
        facts += [list(train_rows), list(validation_rows)]
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
        for values in (self.data.returns, self.data.turn_rewards):
            digest.update(b"" if values is None else values.double().numpy().tobytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class EpochRow:
    """One epoch: mean loss terms, in squared units of reward; ``validation_loss`` None without validation sessions."""

    epoch: int
    train_loss: float
    validation_loss: float | None


def training_loop(
    training: Training, progress: Progress, state: Path | None, processes: Processes
) -> tuple[EpochRow, ...]:
    """`apportion.reward_model.learning.training.train` as one process of ``processes`` does it."""
    model, settings = training.model, training.settings
    run = _Run(training, processes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(training.seed + processes.rank)
        mark = "" if state is None else training.fingerprint()
        if state is not None and (earlier := read_state(state, mark)) is not None:
            run.load_state(earlier)
            progress(run.epoch, settings.epochs, f"going on after epoch {run.epoch}")
        while run.epoch < settings.epochs and run.epoch - run.best_epoch < settings.patience:
            epoch = run.epoch + 1
            train_loss = _train_epoch(run, epoch)
            validation_loss = _measure(run, epoch)
            run.end_epoch(EpochRow(epoch, train_loss, validation_loss))
            measured = "" if validation_loss is None else f", validation {validation_loss:.4g}"
            progress(epoch, settings.epochs, f"epoch {epoch}: loss {train_loss:.4g}{measured}")
            if state is not None:
                reached = run.state(mark)
                if processes.rank == 0:
                    write_state(state, reached)
    model.load_state_dict(run.best_weights, strict=False)
    model.eval()
    return tuple(run.history)


class _Run:
    """Everything that changes while a model is trained."""

    def __init__(self, training: Training, processes: Processes) -> None:
        self.training, self.model, self.processes = training, training.model, processes
        self.optimizer = _optimizer(training.model, training.settings)
        self.generator = torch.Generator().manual_seed(training.seed)
        self.counts = training.bootstraps()
        self.history: list[EpochRow] = []
        self.best, self.best_epoch, self.best_weights = math.inf, 0, _copy(trained_weights(self.model))

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
            "random": self.processes.gather(torch.get_rng_state()),
            "history": [(row.epoch, row.train_loss, row.validation_loss) for row in self.history],
            "best": (self.best, self.best_epoch),
            "best_weights": self.best_weights,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a `state`, random numbers included."""
        self.model.load_state_dict(state["weights"], strict=False)
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        # A copy: torch 2.13 dies on a state that does not begin where its storage begins.
        torch.set_rng_state(state["random"][self.processes.rank].clone())
        self.history = [EpochRow(*row) for row in state["history"]]
        self.best, self.best_epoch = state["best"]
        self.best_weights = state["best_weights"]


def trained_weights(model: RewardModel) -> dict[str, Tensor]:
    """The weights that training changes, by name."""
    return {name: weight.detach() for name, weight in model.named_parameters() if weight.requires_grad}


def _optimizer(model: RewardModel, settings: RewardModelSettings) -> torch.optim.Optimizer:
    head = list(model.head.parameters())
    known = {id(parameter) for parameter in head}
    backbone = [p for p in model.parameters() if p.requires_grad and id(p) not in known]
    groups = [{"params": head, "lr": settings.lr}, {"params": backbone, "lr": settings.lr_backbone}]
    groups = [group for group in groups if group["params"]]
    # One pass over the weights of all heads: a third less time than the plain loop on a processor.
    return torch.optim.AdamW(groups, weight_decay=settings.weight_decay, fused=True)


def _train_epoch(run: _Run, epoch: int) -> float:
    """Take one step for each batch of the training episodes; returns their mean loss."""
    model, processes = run.model, run.processes
    model.train()
    total = torch.zeros(2, dtype=torch.float64)
    for rows, sampled in _steps(run):
        losses = _member_losses(run, processes.strided_part(rows), processes.strided_part(sampled), epoch)
        terms = processes.sum(torch.tensor(len(losses)))
        run.optimizer.zero_grad()
        if len(losses):
            # In units of the model's own scale, a step does not depend on the units of the scores. No head's gradient
            # depends on another's.
            torch.autograd.backward(losses.sum() / terms / model.config.reward_scale**2)
        processes.sum_gradients(model.parameters())
        torch.nn.utils.clip_grad_norm_(model.parameters(), LARGEST_GRADIENT * math.sqrt(model.config.members))
        run.optimizer.step()
        total += _sum_and_count(losses.mean(dim=1))
    return _mean(processes.sum(total))


def _steps(run: _Run) -> Iterator[tuple[list[int], list[Tensor]]]:
    """The training episodes in a new order, as many at once as a step takes, with the turns of each that it scores."""
    training, settings = run.training, run.training.settings
    train_rows, _ = training.rows
    rows: list[int] = []
    sampled: list[Tensor] = []
    for place in torch.randperm(len(train_rows), generator=run.generator).tolist():
        turns = training.objective.sample(training.data.length(train_rows[place]), run.generator)
        if settings.batch_turns is None:
            full = len(rows) == settings.batch_size
        else:
            full = sum(map(len, sampled)) + len(turns) > settings.batch_turns
        if rows and full:
            yield rows, sampled
            rows, sampled = [], []
        rows.append(train_rows[place])
        sampled.append(turns)
    if rows:
        yield rows, sampled


def _measure(run: _Run, epoch: int) -> float | None:
    """The mean loss of the validation episodes, None where there are none."""
    _, validation_rows = run.training.rows
    if not validation_rows:
        return None
    run.model.eval()
    total = torch.zeros(2, dtype=torch.float64)
    with torch.inference_mode():
        for row in run.processes.strided_part(validation_rows):
            everything = [torch.arange(run.training.data.length(row))]
            positions, batch = run.training.data.batch([row], everything)
            predicted = _predicted(run.training, positions).mean(dim=1)
            total += _sum_and_count(_losses(run.training, predicted, batch, [row], epoch))
    return _mean(run.processes.sum(total))


def _sum_and_count(losses: Tensor) -> Tensor:
    return torch.stack([losses.detach().double().sum(), torch.tensor(len(losses), dtype=torch.float64)])


def _mean(sum_and_count: Tensor) -> float:
    return float(sum_and_count[0] / sum_and_count[1])


def _predicted(training: Training, positions: Tensor) -> Tensor:
    """What each head predicts (N, E) of some turns."""
    settings = training.settings
    mixed = settings.precision == "bfloat16" and not settings.freeze_backbone
    with torch.autocast(settings.device, torch.bfloat16, enabled=mixed):
        return training.data.inputs.members(training.model, positions).float()


def _member_losses(run: _Run, rows: Sequence[int], sampled: Sequence[Tensor], epoch: int) -> Tensor:
    """The objective's terms, a column a head, for the ``sampled`` turns of the episodes ``rows``, as each counts them.

    All heads read what the backbone made of the turns once.
    """
    training = run.training
    if not rows:
        return torch.zeros(0, len(run.counts))  # A process whose share of a small batch is nothing.
    positions, batch = training.data.batch(rows, sampled)
    columns = []
    for predicted, counts in zip(_predicted(training, positions).unbind(dim=1), run.counts[:, list(rows)], strict=True):
        losses = _losses(training, predicted, batch, rows, epoch)
        columns.append(losses * (counts if len(losses) == len(rows) else counts[batch.episode]))
    return torch.stack(columns, dim=1)


def _losses(training: Training, predicted: Tensor, batch: Batch, rows: Sequence[int], epoch: int) -> Tensor:
    """The objective's terms for what is ``predicted`` (N) of turns of the episodes ``rows``."""
    data, objective = training.data, training.objective
    losses = objective.loss(predicted, batch)
    finite = torch.isfinite(losses)
    if not bool(finite.all()):
        term = int(torch.nonzero(~finite)[0])
        # There is one term an episode, or one a turn.
        place = term if len(losses) == len(batch.lengths) else int(batch.episode[term])
        session_id, *_ = data.history_windows.keys[rows[place]]
        raise UnitError(
            f"{objective.name}, epoch {epoch}, session {session_id}: the loss is {losses[term]:g}, not "
            "a finite number. Look at that session's score and turn rewards; if they are right, lower train_reward.lr "
            "(and lr_backbone)."
        )
    return losses


def _copy(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in weights.items()}
