"""Proximal policy optimization of a dialogue policy against a reward model, with LoRA.

One step: sample replies to dialogue contexts, score them, turn scores and divergence into rewards for each token,
estimate advantages, and move adapters and value head along the clipped objective. Equations: LLM-GELI (Eq. 1 and 8) and
Schulman et al., 2017.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import torch
from peft import PeftModel
from torch import Tensor

from apportion.foundation.distributed import Processes
from apportion.foundation.errors import UnitError
from apportion.foundation.progress import Progress
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.ppo.actor_critic import ActorCritic
from apportion.rlhf.ppo.advantages import estimate_advantages, whiten
from apportion.rlhf.ppo.checkpoints import Checkpoints, PPOState
from apportion.rlhf.ppo.experience import Experience, micro_batches
from apportion.rlhf.ppo.kl_control import KLControl
from apportion.rlhf.ppo.token_rewards import token_rewards
from apportion.rlhf.ppo.update import PPOUpdate
from apportion.rlhf.sampling.multi_turn import sample_dialogues
from apportion.rlhf.sampling.partner import Partner
from apportion.rlhf.sampling.rollout import Rollout, finite_probabilities, join_rollouts, sample_replies
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.alarms import Alarms, gamed, repetition, sameness
from apportion.rlhf.training.masked_mean import masked_mean
from apportion.rlhf.training.metrics import Metrics
from apportion.rlhf.training.progress_line import progress_line
from apportion.rlhf.training.reward import Reward, finite_scores
from apportion.rlhf.training.run import Watcher
from apportion.rlhf.training.score_norm import ScoreNorm
from apportion.rlhf.training.shuffled import ShuffledOrder


class PPO:
    """Everything that changes while a policy is trained: adapters, value head, optimizer, running score moments.

    Random numbers (sampling, order) come from torch's global generators, which the caller seeds.

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
        The other side of responses of several turns (``settings.max_turns``); None where a response is one turn.
    dialogues : sequence of Tensor [shape=(L,)], int64
        Token ids of the corpus' own dialogues, for ``settings.pretrain_coefficient``.
    processes : Processes or None
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
        processes: Processes | None = None,
    ) -> None:
        self.policy = policy
        self.processes = processes or Processes()
        self.contexts = contexts
        self.reward = reward
        self.settings = settings
        self.partner = partner
        self.actor = ActorCritic(model, settings.temperature)
        if settings.gradient_checkpointing:
            model.get_base_model().gradient_checkpointing_enable({"use_reentrant": False})  # type: ignore[operator]
        self.update = PPOUpdate(self.actor, settings, dialogues, policy.pad_id, self.processes)
        self.score_norm = ScoreNorm()
        self.kl_control = KLControl(settings)
        self.alarms = Alarms(settings.alarms)
        self.order = ShuffledOrder(len(contexts))

    def run(
        self,
        metrics: Metrics,
        progress: Progress,
        checkpoints: Checkpoints | None = None,
        watch: Sequence[Watcher] = (),
    ) -> None:
        """Train up to ``settings.steps`` steps; ``metrics`` receives every step's, counted from 1.

        With ``checkpoints`` the training goes on behind the newest one and leaves one after every step.

        Raises
        ------
        UnitError
            A reward or a loss that is not a finite number, or an alarm; the last good checkpoint is kept and named.
        """
        done = self._resume(checkpoints, metrics) if checkpoints else 0
        try:
            for step in range(done + 1, self.settings.steps + 1):
                started = time.perf_counter()
                measured = self.step(step)
                metrics.add(step, measured)
                reason = self.alarms.check(measured)
                for watcher in watch:
                    watcher(step, measured)
                if reason:
                    raise UnitError(gamed(self.settings, step, reason))
                if checkpoints:
                    checkpoints.save(step, self.state(), metrics, self.alarms.calm)
                rate = self.settings.batch_size / (time.perf_counter() - started)
                progress(step, self.settings.steps, progress_line("ppo", step, measured, rate))
        except UnitError as error:
            last_good = checkpoints.kept() if checkpoints else None
            raise UnitError(f"{error} {last_good}" if last_good else str(error)) from None

    def step(self, number: int) -> dict[str, float]:
        """One step; the metrics are means over the responses sampled in it.

        Raises
        ------
        UnitError
            A reward or a loss that is not a finite number.
        """
        places = self.processes.broadcast([next(self.order) for _ in range(self.settings.batch_size)])
        contexts = [self.contexts[place] for place in places[self.processes.contiguous_part(len(places))]]
        with finite_probabilities():
            sampled = self._sample(contexts)
        rollout, scores = self._gather(sampled, self._scores(number, contexts, sampled))
        experience, observed = self._experience(rollout, scores, places)
        losses = self.update(number, experience)
        return {"reward": math.fsum(scores) / len(scores), **observed, **losses}

    def state(self) -> PPOState:
        """What a checkpoint has to hold beside the adapters, the metrics and the random number generators."""
        head = self.actor.value_head.state_dict()
        return PPOState(
            value_head={name: weight.detach().cpu() for name, weight in head.items()},
            optimizer=self.update.optimizer.state_dict(),
            schedule=self.update.schedule.state_dict(),
            plain={
                "order": self.order.left,
                "dialogue_order": self.update.dialogue_order.left,
                "score_norm": self.score_norm.moments,
                "beta": self.kl_control.coefficient,
                "alarms": self.alarms.state(),
            },
        )

    def load_state(self, state: PPOState) -> None:
        """Go on from what `state` gave."""
        self.actor.value_head.load_state_dict(state.value_head)
        self.update.optimizer.load_state_dict(state.optimizer)
        self.update.schedule.load_state_dict(state.schedule)
        plain = state.plain
        self.order.left = [int(index) for index in plain["order"]]
        self.update.dialogue_order.left = [int(index) for index in plain["dialogue_order"]]
        self.score_norm = ScoreNorm(*plain["score_norm"])
        self.kl_control = KLControl(self.settings, float(plain["beta"]))
        self.alarms.load_state(plain["alarms"])

    def _resume(self, checkpoints: Checkpoints, metrics: Metrics) -> int:
        """The steps that are done; without any, what is there before the first becomes a checkpoint."""
        done = checkpoints.restore(self.load_state, metrics)
        if done is None:
            checkpoints.save(0, self.state(), metrics, self.alarms.calm)
        return done or 0

    def _sample(self, contexts: Sequence[DialogueContext]) -> Rollout:
        settings = self.settings
        if self.partner is None:
            return sample_replies(
                self.policy,
                self.actor.model,
                contexts,
                max_new_tokens=settings.max_new_tokens,
                temperature=settings.temperature,
            )
        return sample_dialogues(self.policy, self.actor.model, contexts, self.partner, settings)

    def _scores(self, number: int, contexts: Sequence[DialogueContext], rollout: Rollout) -> list[float]:
        answered = [contexts[row] for row in rollout.turn_ends[:, 0].tolist()]
        return finite_scores(self.reward, answered, rollout.histories, rollout.texts, f"PPO step {number}")

    def _gather(self, rollout: Rollout, scores: list[float]) -> tuple[Rollout, list[float]]:
        """All processes' responses and scores, in the order of the contexts."""
        if self.processes.size == 1:
            return rollout, scores
        parts = self.processes.gather_objects((rollout.to(torch.device("cpu")), scores))
        joined = join_rollouts([part for part, _ in parts], self.policy.pad_id)
        return joined.to(rollout.tokens.device), [score for _, part_scores in parts for score in part_scores]

    @torch.no_grad()
    def _experience(
        self, rollout: Rollout, scores: Sequence[float], places: Sequence[int]
    ) -> tuple[Experience, dict[str, float]]:
        settings = self.settings
        logp, values, entropy, reference = self._forward(rollout)
        divergence = (logp - reference) * rollout.mask
        if settings.score_norm:
            self.score_norm.update(scores)
            scores = self.score_norm(scores)
        if (limit := settings.reward_clip) is not None:
            scores = [min(max(score, -limit), limit) for score in scores]
        cost = self.kl_control.coefficient
        rewards = token_rewards(scores, divergence, rollout, cost, settings.kl_clip, settings.reward_placement)
        advantages, returns = estimate_advantages(rewards, values, rollout.mask, settings.gamma, settings.gae_lambda)
        observed = {
            "kl": float(divergence.sum(dim=1).mean()),
            "response_tokens": float(rollout.lengths.double().mean()),
            "entropy": float(masked_mean(entropy, rollout.mask)),
            "repetition": repetition(rollout.replies, rollout.mask),
            "sameness": sameness(rollout.replies, rollout.mask, places),
        }
        if settings.kl_controller == "adaptive":
            observed["beta"] = cost
        self.kl_control.update(observed["kl"])
        return Experience(rollout, logp, values, whiten(advantages, rollout.mask), returns), observed

    def _forward(self, rollout: Rollout) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Log-probability, value, entropy and reference log-probability of every token [shape=(B, L)]."""
        self.actor.eval()
        batch: tuple[Tensor, ...] = ()
        cut = self.settings.group_by_length
        here = torch.arange(len(rollout.mask))[self.processes.contiguous_part(len(rollout.mask))]
        for part in micro_batches(rollout, here, self.settings):
            rows = rollout.rows(part, cut)
            old = self.actor(rows)
            outputs = (old.logp, old.values, old.entropy, self.actor.reference_logp(rows))
            batch = batch or tuple(output.new_zeros(rollout.mask.shape) for output in outputs)
            for whole, output in zip(batch, outputs, strict=True):
                whole[part, : output.shape[1]] = output
        # A row is zero in every process but the one that has read it.
        logp, values, entropy, reference = (self.processes.sum(whole) for whole in batch)
        return logp, values, entropy, reference
