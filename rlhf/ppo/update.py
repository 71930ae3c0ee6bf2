"""The updates of a step of PPO: adapters and value head move along the clipped objective."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from apportion.foundation.distributed import Processes
from apportion.foundation.errors import UnitError
from apportion.rlhf.ppo.actor_critic import ActorCritic
from apportion.rlhf.ppo.experience import Experience, micro_batches, minibatches
from apportion.rlhf.ppo.learning_rate import share_of_lr
from apportion.rlhf.ppo.losses import PPOLoss, ppo_loss, sampled_divergence
from apportion.rlhf.sampling.rollout import Rollout
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.shuffled import ShuffledOrder


class PPOUpdate:
    """The optimizer and all that it learns from beside a step's experience.

    Parameters
    ----------
    actor : ActorCritic
        Whose adapters and value head are trained.
    settings : AlignSettings
        Sizes and weights.
    dialogues : sequence of Tensor [shape=(L,)], int64
        Token ids of the corpus' own dialogues, for ``settings.pretrain_coefficient``.
    pad_id : int
        Fills shorter dialogues.
    processes : Processes
        Those that share each minibatch; the gradients are summed over them.
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
        """The updates of step ``number``; what they measured, as means over them.

        Raises
        ------
        UnitError
            A loss or a gradient that is not a finite number.
        """
        self.actor.train()
        losses: list[dict[str, float]] = []
        limit, updates = self.settings.target_kl, 0
        for minibatch in self._minibatches(experience.rollout):
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

    def _minibatches(self, rollout: Rollout) -> Iterator[Tensor]:
        for _ in range(self.settings.ppo_epochs):
            yield from self.processes.broadcast(minibatches(rollout, self.settings))

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

    @staticmethod
    def _require_finite(number: int, value: float, what: str = "the loss") -> None:
        if not math.isfinite(value):
            raise UnitError(f"PPO step {number}: {what} is {value}; it must be a finite number. Lower lr.")
