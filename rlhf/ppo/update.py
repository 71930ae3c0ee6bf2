"""The updates of a step of PPO: its experience, in minibatches, moves adapters and value head."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import torch
from torch import Tensor

from apportion.foundation.distributed import Processes
from apportion.foundation.errors import UnitError
from apportion.rlhf.ppo.actor_critic import ActorCritic
from apportion.rlhf.ppo.objective import PPOLoss, ppo_loss, sampled_divergence
from apportion.rlhf.sampling.rollout import Rollout
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.rng_state import ShuffledOrder


@dataclass(frozen=True)
class Experience:
    """Responses as they were sampled; tensors have shape (B, L), float."""

    rollout: Rollout
    logp: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor

    def rows(self, places: Tensor, cut: bool = False) -> Experience:
        """The rows ``places`` [shape=(b,)] alone; ``cut`` drops columns that only pad these rows."""
        rollout = self.rollout.rows(places, cut)
        length = rollout.mask.shape[1]
        parts = (self.logp, self.values, self.advantages, self.returns)
        return Experience(rollout, *(part[places, :length] for part in parts))


def minibatches(rollout: Rollout, settings: AlignSettings) -> tuple[Tensor, ...]:
    """Row numbers [shape=(b,)] int64 of each optimizer step of one pass, in random order.

    With ``group_by_length`` a minibatch holds responses of like length, and the minibatches come in random order.
    """
    order = torch.randperm(settings.batch_size)
    count = -(-settings.batch_size // settings.mini_batch_size)
    if not settings.group_by_length:
        return torch.chunk(order, count)
    sizes = rollout.attention.sum(dim=1).cpu()[order]
    buckets = torch.chunk(order[torch.argsort(sizes, stable=True)], count)
    return tuple(buckets[index] for index in torch.randperm(len(buckets)).tolist())


def micro_batches(rollout: Rollout, rows: Tensor, settings: AlignSettings) -> Iterator[Tensor]:
    """``rows`` in the parts that go through the model at once, each on the rollout's device."""
    size = settings.micro_batch_size or settings.mini_batch_size
    if settings.group_by_length:
        rows = rows[torch.argsort(rollout.attention.sum(dim=1).cpu()[rows], stable=True)]
    for part in torch.split(rows, size) if len(rows) else ():
        yield part.to(rollout.tokens.device)


def share_of_lr(settings: AlignSettings, done: int) -> float:
    """What of the learning rate is taken after ``done`` of ``settings.steps`` steps: up in ``warmup``, then down.

    >>> settings = AlignSettings(steps=4, lr_schedule="cosine")
    >>> [round(share_of_lr(settings, done), 3) for done in range(5)]
    [1.0, 0.854, 0.5, 0.146, 0.0]
    """
    rising = settings.warmup or 0
    if done < rising:
        return done / rising
    if settings.lr_schedule == "constant":
        return 1.0
    gone = (done - rising) / max(1, settings.steps - rising)
    return 1 - gone if settings.lr_schedule == "linear" else 0.5 * (1 + math.cos(math.pi * gone))


class PPOUpdate:
    """The optimizer and all that it learns from beside a step's experience.

    ``actor``: whose adapters and value head are trained. ``dialogues`` [shape=(L,)], int64: token ids of the corpus'
    own dialogues, for ``settings.pretrain_coefficient``. ``processes``: those that share each minibatch; the gradients
    are summed over them.
    """

    def __init__(
        self,
        actor: ActorCritic,
        settings: AlignSettings,
        dialogues: Sequence[Tensor],
        pad_id: int,
        processes: Processes,
    ) -> None:
        self.actor = actor
        self.settings = settings
        self.dialogues = dialogues
        self.processes = processes
        self.trained = [weight for weight in actor.parameters() if weight.requires_grad]
        self._pad_id = pad_id
        head = list(actor.value_head.parameters())
        adapters = [weight for weight in actor.model.parameters() if weight.requires_grad]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": adapters, "lr": settings.learning_rate},
                {"params": head, "lr": settings.value_lr or settings.learning_rate},
            ],
            weight_decay=0.0,
        )
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, partial(share_of_lr, settings))
        self.dialogue_order = ShuffledOrder(len(dialogues))

    def __call__(self, number: int, experience: Experience) -> dict[str, float]:
        """The updates of step ``number``; what they measured, as means over them."""
        self.actor.train()
        losses: list[dict[str, float]] = []
        limit, updates = self.settings.target_kl, 0
        epochs = range(self.settings.ppo_epochs)
        passes = (self.processes.broadcast(minibatches(experience.rollout, self.settings)) for _ in epochs)
        for minibatch in chain.from_iterable(passes):
            measured = self._gradient(number, experience, minibatch)
            losses.append(measured)
            if limit is not None and measured["sampled_kl"] > limit:
                # The gradient that shows it is not followed either.
                self.optimizer.zero_grad()
                break
            self._optimizer_step(number)
            updates += 1
        self.schedule.step()
        means = {name: math.fsum(loss[name] for loss in losses) / len(losses) for name in losses[0]}
        return means if limit is None else {**means, "updates": float(updates)}

    def _gradient(self, number: int, experience: Experience, minibatch: Tensor) -> dict[str, float]:
        """The gradient of one minibatch, summed over its micro-batches; what it measured."""
        self.optimizer.zero_grad()
        tokens = experience.rollout.lengths[minibatch.to(experience.logp.device)].sum()
        sums = dict.fromkeys(("policy_loss", "value_loss", "clip_fraction"), 0.0)
        if self.settings.target_kl is not None:
            sums["sampled_kl"] = 0.0
        here = minibatch[self.processes.contiguous_part(len(minibatch))]
        for part in micro_batches(experience.rollout, here, self.settings):
            rows = experience.rows(part, self.settings.group_by_length)
            loss, divergence = self._loss(rows)
            # Means over tokens: a micro-batch counts as much as it holds of the minibatch's tokens.
            share = rows.rollout.mask.sum() / tokens
            self._require_finite(number, loss.total.item())
            (loss.total * share).backward()  # type: ignore[no-untyped-call]
            parts = {"policy_loss": loss.policy, "value_loss": loss.value, "clip_fraction": loss.clip_fraction}
            if self.settings.target_kl is not None:
                parts["sampled_kl"] = divergence
            for name, value in parts.items():
                sums[name] += (value * share).item()
        if self.settings.pretrain_coefficient:
            sums["pretrain_loss"] = self._pretrain(number)
        self.processes.sum_gradients(self.trained)
        totals = self.processes.sum(torch.tensor(list(sums.values()), dtype=torch.float64))
        return dict(zip(sums, totals.tolist(), strict=True))

    def _loss(self, rows: Experience) -> tuple[PPOLoss, Tensor]:
        now = self.actor(rows.rollout)
        loss = ppo_loss(
            now.logp,
            now.values,
            old_logp=rows.logp,
            old_values=rows.values,
            advantages=rows.advantages,
            returns=rows.returns,
            mask=rows.rollout.mask,
            clip=self.settings.clip,
            value_clip=self.settings.value_clip,
            value_coefficient=self.settings.value_coefficient,
        )
        return loss, sampled_divergence(now.logp.detach(), rows.logp, rows.rollout.mask)

    def _pretrain(self, number: int) -> float:
        places = self.processes.broadcast([next(self.dialogue_order) for _ in range(self.settings.pretrain_batch_size)])
        every = [self.dialogues[place] for place in places]
        here = every[self.processes.contiguous_part(len(every))]
        if not here:
            return 0.0
        pad = torch.nn.utils.rnn.pad_sequence
        device = self.trained[0].device
        tokens = pad(here, batch_first=True, padding_value=self._pad_id).to(device)
        attention = pad([torch.ones_like(dialogue) for dialogue in here], batch_first=True).to(device)
        loss = self.actor.likelihood_loss(tokens, attention)  # Eq. 8, LLM-GELI
        self._require_finite(number, loss.item())
        # A mean over tokens: each process counts as much as it holds of them.
        share = sum(len(dialogue) - 1 for dialogue in here) / sum(len(dialogue) - 1 for dialogue in every)
        (self.settings.pretrain_coefficient * share * loss).backward()  # type: ignore[no-untyped-call]
        return share * loss.item()

    def _optimizer_step(self, number: int) -> None:
        norm = torch.nn.utils.clip_grad_norm_(self.trained, self.settings.max_gradient_norm)
        self._require_finite(number, norm.item(), "the gradient's norm")
        self.optimizer.step()

    def _require_finite(self, number: int, value: float, what: str = "the loss") -> None:
        if not math.isfinite(value):
            step = f"{self.settings.algorithm.upper()} step {number}"
            raise UnitError(f"{step}: {what} is {value}; it must be a finite number. Lower lr.")
