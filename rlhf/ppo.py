"""Proximal policy optimization of a dialogue policy against a reward model, with LoRA.

One step: sample replies to dialogue contexts, score them, turn scores and divergence into rewards for each token,
estimate advantages, and move adapters and value head along the clipped objective. Equations: LLM-GELI (Eq. 1) and
Schulman et al., 2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from peft import PeftModel
from torch import Tensor

from corpus.errors import UnitError
from rlhf.actor_critic import ActorCritic
from rlhf.contexts import DialogueContext
from rlhf.gae import estimate_advantages, whiten
from rlhf.history import History
from rlhf.losses import PPOLoss, masked_mean, ppo_loss
from rlhf.policies import Policy
from rlhf.reward import Reward
from rlhf.rollout import Rollout, sample_replies
from rlhf.score_norm import ScoreNorm
from rlhf.settings import AlignSettings

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Experience:
    """One step's replies with all that the updates need; tensors have shape (B, L), float."""

    rollout: Rollout
    logp: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor


class PPO:
    """Everything that changes while a policy is trained: adapters, value head, optimizer, running score moments.

    Random numbers (sampling, dropout, order) come from torch's global generators, which the caller seeds.

    Parameters
    ----------
    policy : Policy
        Tokenizer and control tokens.
    model : PeftModel
        The policy's model with its adapters.
    contexts : sequence of DialogueContext
        What is answered; each once before any comes again.
    reward : Reward
        Scores the replies.
    settings : AlignSettings
        Sizes and weights.
    """

    def __init__(
        self,
        policy: Policy,
        model: PeftModel,
        contexts: Sequence[DialogueContext],
        reward: Reward,
        settings: AlignSettings,
    ) -> None:
        self.policy = policy
        self.contexts = contexts
        self.reward = reward
        self.settings = settings
        self.actor = ActorCritic(model, settings.temperature)
        self.trained = [weight for weight in self.actor.parameters() if weight.requires_grad]
        head = list(self.actor.value_head.parameters())
        adapters = [weight for weight in model.parameters() if weight.requires_grad]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": adapters, "lr": settings.learning_rate},
                {"params": head, "lr": settings.value_lr or settings.learning_rate},
            ],
            weight_decay=0.0,
        )
        falling = settings.lr_schedule == "linear"
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda done: 1 - done / settings.steps if falling else 1.0
        )
        self.score_norm = ScoreNorm()
        self._order = self._shuffled()

    def run(self, history: History, progress: Progress) -> None:
        """Train for ``settings.steps`` steps; ``history`` receives every step's metrics, steps counted from 1."""
        steps = self.settings.steps
        for step in range(1, steps + 1):
            metrics = self.step(step)
            history.add(step, metrics)
            progress(step, steps, f"PPO step {step}: reward {metrics['reward']:.3f}, KL {metrics['kl']:.2f}")

    def step(self, number: int) -> dict[str, float]:
        """One step; the metrics are means over the replies sampled in it.

        Raises
        ------
        UnitError
            A reward or a loss that is not a finite number.
        """
        chosen = [self.contexts[next(self._order)] for _ in range(self.settings.batch)]
        rollout = sample_replies(
            self.policy,
            self.actor.model,
            chosen,
            max_new_tokens=self.settings.max_new_tokens,
            temperature=self.settings.temperature,
        )
        scores = self._scores(number, chosen, rollout)
        experience, observed = self._experience(rollout, scores)
        losses = self._update(number, experience)
        self.schedule.step()
        return {"reward": math.fsum(scores) / len(scores), **observed, **losses}

    def _scores(self, number: int, contexts: Sequence[DialogueContext], rollout: Rollout) -> list[float]:
        scores = self.reward([context.history for context in contexts], rollout.texts)
        for context, score, text in zip(contexts, scores, rollout.texts, strict=True):
            if not math.isfinite(score):
                raise UnitError(
                    f"align: PPO step {number}: the reward model gave {score} for the reply {text[:80]!r} to session "
                    f"{context.session_id!r}, turn {context.turn}; it must be a finite number. Train the reward model "
                    "again, with a lower learning rate."
                )
        return scores

    @torch.no_grad()
    def _experience(self, rollout: Rollout, scores: Sequence[float]) -> tuple[Experience, dict[str, float]]:
        self.actor.eval()
        old = self.actor(rollout)
        divergence = (old.logp - self.actor.reference_logp(rollout)) * rollout.mask
        if self.settings.score_norm:
            self.score_norm.update(scores)
            scores = self.score_norm(scores)
        rewards = token_rewards(scores, divergence, rollout, self.settings.kl_coefficient)
        advantages, returns = estimate_advantages(
            rewards, old.values, rollout.mask, self.settings.gamma, self.settings.gae_lambda
        )
        observed = {
            "kl": float(divergence.sum(dim=1).mean()),
            "response_tokens": float(rollout.lengths.double().mean()),
            "entropy": float(masked_mean(old.entropy, rollout.mask)),
        }
        return Experience(rollout, old.logp, old.values, whiten(advantages, rollout.mask), returns), observed

    def _update(self, number: int, experience: Experience) -> dict[str, float]:
        self.actor.train()
        losses: list[PPOLoss] = []
        batch, minibatch = self.settings.batch, self.settings.minibatch
        device = experience.logp.device
        for _ in range(self.settings.inner_epochs):
            for chosen in torch.chunk(torch.randperm(batch), -(-batch // minibatch)):
                loss = self._loss(experience, chosen.to(device))
                if not math.isfinite(loss.total.item()):
                    raise UnitError(
                        f"align: PPO step {number}: the loss is {loss.total.item()}; it must be a finite number. "
                        "Lower align.lr."
                    )
                self.optimizer.zero_grad()
                loss.total.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(self.trained, self.settings.max_gradient_norm)
                self.optimizer.step()
                losses.append(loss)
        return {
            "policy_loss": _mean([loss.policy for loss in losses]),
            "value_loss": _mean([loss.value for loss in losses]),
            "clip_fraction": _mean([loss.clip_fraction for loss in losses]),
        }

    def _loss(self, experience: Experience, chosen: Tensor) -> PPOLoss:
        rollout = experience.rollout.rows(chosen)
        now = self.actor(rollout)
        return ppo_loss(
            now.logp,
            now.values,
            old_logp=experience.logp[chosen],
            old_values=experience.values[chosen],
            advantages=experience.advantages[chosen],
            returns=experience.returns[chosen],
            mask=rollout.mask,
            clip=self.settings.clip,
            value_clip=self.settings.value_clip,
            value_coefficient=self.settings.value_coefficient,
        )

    def _shuffled(self) -> Iterator[int]:
        while True:
            yield from torch.randperm(len(self.contexts)).tolist()


def token_rewards(scores: Sequence[float], divergence: Tensor, rollout: Rollout, kl_coefficient: float) -> Tensor:
    """Rewards [shape=(B, L)] float: the divergence's cost at every token, the score at a reply's last.

    ``divergence`` [shape=(B, L)] is log pi - log pi_reference of each sampled token, whose sum over a reply estimates
    the KL divergence of Eq. 1.
    """
    rewards = -kl_coefficient * divergence  # Eq. 1, LLM-GELI
    last = rollout.lengths - 1
    rows = torch.arange(len(scores), device=rewards.device)
    rewards[rows, last] += torch.tensor(scores, dtype=rewards.dtype, device=rewards.device)
    return rewards * rollout.mask


def _mean(values: Sequence[Tensor]) -> float:
    return math.fsum(value.item() for value in values) / len(values)
