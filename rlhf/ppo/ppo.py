"""Proximal policy optimization of a dialogue policy against a reward model, with LoRA.

One step: sample replies to dialogue contexts, score them, turn scores and divergence into rewards for each token,
estimate advantages, and move adapters and value head along the clipped objective. Equations: LLM-GELI (Eq. 1 and 8) and
Schulman et al., 2017.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from peft import PeftModel
from torch import Tensor

from foundation.errors import UnitError
from foundation.processes import Team
from rlhf.policy.contexts import DialogueContext
from rlhf.policy.loading import Policy
from rlhf.ppo.actor_critic import ActorCritic
from rlhf.ppo.advantages import estimate_advantages, whiten
from rlhf.ppo.experience import Experience, micro_batches, minibatches
from rlhf.ppo.kl_control import KLControl
from rlhf.ppo.losses import PPOLoss, ppo_loss, sampled_divergence
from rlhf.ppo.token_rewards import token_rewards
from rlhf.sampling.partner import Partner
from rlhf.sampling.rollout import Rollout, join_rollouts, sample_replies
from rlhf.sampling.several_turns import sample_dialogues
from rlhf.settings import AlignSettings
from rlhf.training.alarms import Alarms, gamed, repetition, sameness
from rlhf.training.masked import masked_mean
from rlhf.training.metrics import History
from rlhf.training.progress_line import progress_line
from rlhf.training.reward import Reward, finite_scores
from rlhf.training.run import Progress, Watcher
from rlhf.training.score_norm import ScoreNorm
from rlhf.training.shuffled import Shuffled

if TYPE_CHECKING:
    from rlhf.ppo.checkpoints import Checkpoints


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
    partner : Partner or None
        The other side of responses of several turns (``settings.reply_turns``); None where a response is one turn.
    dialogues : sequence of Tensor [shape=(L,)], int64
        Token ids of the corpus' own dialogues, for ``settings.pretrain_coefficient``.
    team : Team or None
        The processes that share each step; None where there is but one. Each samples, scores and learns from its part
        of the responses. All else, random order included, is the first one's or the same in all.
    """

    def __init__(
        self,
        policy: Policy,
        model: PeftModel,
        contexts: Sequence[DialogueContext],
        reward: Reward,
        settings: AlignSettings,
        partner: Partner | None = None,
        dialogues: Sequence[Tensor] = (),
        team: Team | None = None,
    ) -> None:
        self.policy = policy
        self.team = team or Team()
        self.contexts = contexts
        self.reward = reward
        self.settings = settings
        self.partner = partner
        self.dialogues = dialogues
        self.actor = ActorCritic(model, settings.temperature)
        if settings.gradient_checkpointing:
            model.get_base_model().gradient_checkpointing_enable({"use_reentrant": False})  # type: ignore[operator]
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
        self.kl_control = KLControl(settings)
        self.alarms = Alarms(settings.alarms)
        self.order = Shuffled(len(contexts))
        self.dialogue_order = Shuffled(len(dialogues))

    def run(
        self,
        history: History,
        progress: Progress,
        checkpoints: Checkpoints | None = None,
        watch: Sequence[Watcher] = (),
    ) -> None:
        """Train up to ``settings.steps`` steps; ``history`` receives every step's metrics, steps counted from 1.

        With ``checkpoints`` the training goes on behind the newest one and leaves one after every step.

        Raises
        ------
        UnitError
            A reward or a loss that is not a finite number, or an alarm; the last good checkpoint is kept and named.
        """
        done = checkpoints.restore(self, history) if checkpoints else 0
        try:
            for step in range(done + 1, self.settings.steps + 1):
                started = time.perf_counter()
                metrics = self.step(step)
                history.add(step, metrics)
                reason = self.alarms.check(metrics)
                for watcher in watch:
                    watcher(step, metrics)
                if reason:
                    raise UnitError(gamed("PPO", step, reason))
                if checkpoints:
                    checkpoints.save(self, history, step)
                rate = self.settings.batch / (time.perf_counter() - started)
                progress(step, self.settings.steps, progress_line("ppo", step, metrics, rate))
        except UnitError as error:
            kept = checkpoints.kept() if checkpoints else None
            raise UnitError(f"{error} {kept}" if kept else str(error)) from None

    def step(self, number: int) -> dict[str, float]:
        """One step; the metrics are means over the responses sampled in it.

        Raises
        ------
        UnitError
            A reward or a loss that is not a finite number.
        """
        places = self.team.agree([next(self.order) for _ in range(self.settings.batch)])
        chosen = [self.contexts[place] for place in places[self.team.stretch(len(places))]]
        sampled = self._sample(chosen)
        rollout, scores = self._together(sampled, self._scores(number, chosen, sampled))
        experience, observed = self._experience(rollout, scores, places)
        losses = self._update(number, experience)
        self.schedule.step()
        return {"reward": math.fsum(scores) / len(scores), **observed, **losses}

    def _sample(self, chosen: Sequence[DialogueContext]) -> Rollout:
        settings = self.settings
        if self.partner is None:
            return sample_replies(
                self.policy,
                self.actor.model,
                chosen,
                max_new_tokens=settings.max_new_tokens,
                temperature=settings.temperature,
            )
        return sample_dialogues(self.policy, self.actor.model, chosen, self.partner, settings)

    def _scores(self, number: int, contexts: Sequence[DialogueContext], rollout: Rollout) -> list[float]:
        answered = [contexts[row] for row in rollout.turn_ends[:, 0].tolist()]
        return finite_scores(self.reward, answered, rollout.histories, rollout.texts, f"PPO step {number}")

    def _together(self, rollout: Rollout, scores: list[float]) -> tuple[Rollout, list[float]]:
        """All processes' responses and scores, in the order of the contexts."""
        if self.team.size == 1:
            return rollout, scores
        parts = self.team.collect((rollout.to(torch.device("cpu")), scores))
        joined = join_rollouts([part for part, _ in parts], self.policy.pad_id)
        return joined.to(rollout.tokens.device), [score for _, own in parts for score in own]

    @torch.no_grad()
    def _experience(
        self, rollout: Rollout, scores: Sequence[float], places: Sequence[int]
    ) -> tuple[Experience, dict[str, float]]:
        settings = self.settings
        logp, values, entropy, reference = self._read(rollout)
        divergence = (logp - reference) * rollout.mask
        if settings.score_norm:
            self.score_norm.update(scores)
            scores = self.score_norm(scores)
        if (limit := settings.reward_clip) is not None:
            scores = [min(max(score, -limit), limit) for score in scores]
        cost = self.kl_control.coefficient
        rewards = token_rewards(scores, divergence, rollout, cost, settings.kl_clip, settings.reward_at)
        advantages, returns = estimate_advantages(rewards, values, rollout.mask, settings.gamma, settings.gae_lambda)
        observed = {
            "kl": float(divergence.sum(dim=1).mean()),
            "response_tokens": float(rollout.lengths.double().mean()),
            "entropy": float(masked_mean(entropy, rollout.mask)),
            "repetition": repetition(rollout.replies, rollout.mask),
            "sameness": sameness(rollout.replies, rollout.mask, places),
        }
        if settings.kl_controller == "adaptive":
            observed["kl_coefficient"] = cost
        self.kl_control.update(observed["kl"])
        return Experience(rollout, logp, values, whiten(advantages, rollout.mask), returns), observed

    def _read(self, rollout: Rollout) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Log-probability, value, entropy and reference log-probability of every token [shape=(B, L)]."""
        self.actor.eval()
        found: tuple[Tensor, ...] = ()
        cut = self.settings.length_buckets
        own = torch.arange(len(rollout.mask))[self.team.stretch(len(rollout.mask))]
        for part in micro_batches(rollout, own, self.settings):
            rows = rollout.rows(part, cut)
            old = self.actor(rows)
            read = (old.logp, old.values, old.entropy, self.actor.reference_logp(rows))
            found = found or tuple(one.new_zeros(rollout.mask.shape) for one in read)
            for whole, one in zip(found, read, strict=True):
                whole[part, : one.shape[1]] = one
        # A row is zero in every process but the one that has read it.
        logp, values, entropy, reference = (self.team.sum(one) for one in found)
        return logp, values, entropy, reference

    def _update(self, number: int, experience: Experience) -> dict[str, float]:
        self.actor.train()
        losses: list[dict[str, float]] = []
        limit, updates = self.settings.target_kl, 0
        for chosen in self._minibatches(experience.rollout):
            measured = self._gradient(number, experience, chosen)
            losses.append(measured)
            if limit is not None and measured["sampled_kl"] > limit:
                # The gradient that shows it is not followed either.
                self.optimizer.zero_grad()
                break
            self._follow(number)
            updates += 1
        means = {name: math.fsum(loss[name] for loss in losses) / len(losses) for name in losses[0]}
        return means if limit is None else {**means, "updates": float(updates)}

    def _minibatches(self, rollout: Rollout) -> Iterator[Tensor]:
        for _ in range(self.settings.inner_epochs):
            yield from self.team.agree(minibatches(rollout, self.settings))

    def _gradient(self, number: int, experience: Experience, chosen: Tensor) -> dict[str, float]:
        """The gradient of one minibatch, summed over its micro-batches; what it measured."""
        self.optimizer.zero_grad()
        tokens = experience.rollout.lengths[chosen.to(experience.logp.device)].sum()
        sums = dict.fromkeys(("policy_loss", "value_loss", "clip_fraction"), 0.0)
        if self.settings.target_kl is not None:
            sums["sampled_kl"] = 0.0
        own = chosen[self.team.stretch(len(chosen))]
        for part in micro_batches(experience.rollout, own, self.settings):
            rows = experience.rows(part, self.settings.length_buckets)
            loss, divergence = self._loss(rows)
            # Means over tokens: a micro-batch counts as much as it holds of the minibatch's tokens.
            share = rows.rollout.mask.sum() / tokens
            self._check(number, loss.total.item())
            (loss.total * share).backward()  # type: ignore[no-untyped-call]
            parts = {"policy_loss": loss.policy, "value_loss": loss.value, "clip_fraction": loss.clip_fraction}
            if self.settings.target_kl is not None:
                parts["sampled_kl"] = divergence
            for name, value in parts.items():
                sums[name] += (value * share).item()
        if self.settings.pretrain_coefficient:
            sums["pretrain_loss"] = self._pretrain(number)
        self.team.sum_gradients(self.trained)
        totals = self.team.sum(torch.tensor(list(sums.values()), dtype=torch.float64))
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
        places = self.team.agree([next(self.dialogue_order) for _ in range(self.settings.pretrain_batch)])
        every = [self.dialogues[place] for place in places]
        chosen = every[self.team.stretch(len(every))]
        if not chosen:
            return 0.0
        pad = torch.nn.utils.rnn.pad_sequence
        device = self.trained[0].device
        tokens = pad(chosen, batch_first=True, padding_value=self.policy.pad_id).to(device)
        attention = pad([torch.ones_like(one) for one in chosen], batch_first=True).to(device)
        loss = self.actor.likelihood_loss(tokens, attention)  # Eq. 8, LLM-GELI
        self._check(number, loss.item())
        # A mean over tokens: each process counts as much as it holds of them.
        share = sum(len(one) - 1 for one in chosen) / sum(len(one) - 1 for one in every)
        (self.settings.pretrain_coefficient * share * loss).backward()  # type: ignore[no-untyped-call]
        return share * loss.item()

    def _follow(self, number: int) -> None:
        norm = torch.nn.utils.clip_grad_norm_(self.trained, self.settings.max_gradient_norm)
        self._check(number, norm.item(), "the gradient's norm")
        self.optimizer.step()

    @staticmethod
    def _check(number: int, value: float, what: str = "the loss") -> None:
        if not math.isfinite(value):
            raise UnitError(f"align: PPO step {number}: {what} is {value}; it must be a finite number. Lower align.lr.")
