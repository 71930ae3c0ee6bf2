"""Proximal policy optimization of a dialogue policy against a reward model, with LoRA.

One step: sample replies to dialogue contexts, score them, turn scores and divergence into rewards for each token,
estimate advantages, and move adapters and value head along the clipped objective. Equations: LLM-GELI (Eq. 1 and 8) and
Schulman et al., 2017.
"""

from __future__ import annotations

import io
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel, set_peft_model_state_dict
from safetensors.torch import load_file, save_file
from torch import Tensor

from apportion.corpus.session import Episode
from apportion.foundation.distributed import Processes
from apportion.foundation.errors import UnitError
from apportion.rlhf.plugins import OUTCOME
from apportion.rlhf.policy.contexts import DialogueContext, dialogue_chunks, merge_turns
from apportion.rlhf.policy.folder import write_adapter
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy.sharding import attach_sharded, sharding_asked
from apportion.rlhf.ppo.actor_critic import ActorCritic
from apportion.rlhf.ppo.objective import KLControl, estimate_advantages, token_rewards, whiten
from apportion.rlhf.ppo.update import Experience, PPOUpdate, micro_batches
from apportion.rlhf.sampling.multi_turn import sample_dialogues
from apportion.rlhf.sampling.partner import Partner
from apportion.rlhf.sampling.rollout import Draw, Rollout, finite_probabilities, join_rollouts, sample_replies
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.alarms import Alarms, repetition, sameness
from apportion.rlhf.training.checkpoint_folders import StepFolders
from apportion.rlhf.training.endings import measured_endings
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.metrics import STATE, Metrics, masked_mean, progress_line
from apportion.rlhf.training.penalties import Penalties
from apportion.rlhf.training.refreshed_reward import load_reward_state, reward_state
from apportion.rlhf.training.reward import Reward, ScoreNorm, at_the_end, finite_scores, normalized_scores
from apportion.rlhf.training.rng_state import ShuffledOrder
from apportion.rlhf.training.step_end import step_ended
from apportion.rlhf.training_data import TrainingData

TRAINER, VALUES = "trainer.pt", "value_head.safetensors"


@dataclass(frozen=True)
class PPOState:
    """What PPO goes on from: weights of the value head, torch's states of optimizer and schedule, plain JSON values."""

    value_head: dict[str, Tensor]
    optimizer: dict[str, Any]
    schedule: dict[str, Any]
    plain: dict[str, Any]


class Checkpoints(StepFolders):
    """Folders of a training's states.

    A checkpoint holds the adapters in peft's form (it can be loaded as a policy), the value head, the optimizer with
    its schedule, the state of the random number generators, the plain values of the state and the metrics so far.

    ``root``: made when the first checkpoint is written. ``processes``: those that share the training; each has random
    number generators of its own.
    """

    def __init__(self, root: Path, policy: Policy, model: PeftModel, processes: Processes) -> None:
        super().__init__(root)
        self._policy = policy
        self._model = model
        self._processes = processes

    def save(self, step: int, state: PPOState, metrics: Metrics, calm: bool) -> None:
        """Write the checkpoint of ``step`` finished steps and drop those that nobody needs any more.

        Every process has to call it; the first one writes. ``calm``: no alarm's limit was passed in the step.
        """
        random = self._processes.gather_objects(_random_state())
        if self._processes.rank:
            return
        scratch = self.scratch()
        write_adapter(scratch, self._policy, self._model)
        save_file({name: weight.contiguous() for name, weight in state.value_head.items()}, scratch / VALUES)
        trainer = {"optimizer": state.optimizer, "schedule": state.schedule, "random": random}
        buffer = io.BytesIO()
        torch.save(trainer, buffer)
        (scratch / TRAINER).write_bytes(buffer.getvalue())
        self.finish(scratch, step, calm, {**state.plain, "history": metrics.rows})

    def restore(self, load_state: Callable[[PPOState], None], metrics: Metrics) -> int | None:
        """Bring the model, ``metrics`` and the random number generators to the newest checkpoint; its number of steps.

        ``load_state`` takes up the rest. None where there is no checkpoint.
        """
        if self._processes.rank == 0:
            self.clear_scratch()
        folder = self._processes.broadcast(self.newest())
        if folder is None:
            return None
        return self.read(folder, lambda folder: self._load(folder, load_state, metrics))

    def _load(self, folder: Path, load_state: Callable[[PPOState], None], metrics: Metrics) -> int:
        plain = json.loads((folder / STATE).read_text(encoding="utf-8"))
        trainer = torch.load(folder / TRAINER, weights_only=True, map_location="cpu")
        set_peft_model_state_dict(self._model, load_file(folder / "adapter_model.safetensors"))
        load_state(PPOState(load_file(folder / VALUES), trainer["optimizer"], trainer["schedule"], plain))
        metrics.restore(plain["history"])
        _set_random_state(trainer["random"][self._processes.rank])
        return int(plain["step"])


def _random_state() -> dict[str, Any]:
    """This process' generators."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {"cpu": torch.get_rng_state(), "cuda": cuda}


def _set_random_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["cpu"])
    if state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])


def train_ppo(data: TrainingData, run: Run) -> PeftModel:
    """The policy's model with adapters trained by `PPO`; raises as `PPO.run`."""
    policy, settings, processes = data.policy, run.settings, run.processes
    by = sharding_asked(processes)
    if by:
        model = attach_sharded(policy.model, settings, processes, by)
    else:
        model = attach_adapter(policy.model, settings.adapter)
    dialogues = _dialogues(data.episodes, policy, settings)
    checkpoints = Checkpoints(run.checkpoints, policy, model, processes) if run.checkpoints else None
    penalties = Penalties.of(settings, policy, data.episodes)
    ppo = PPO(policy, model, data.contexts, data.reward, settings, data.partner, dialogues, processes, penalties)
    if processes.rank:
        # Each process samples other replies.
        torch.manual_seed(run.seed + processes.rank)
    ppo.run(run, checkpoints)
    return model


def _dialogues(episodes: Sequence[Episode], policy: Policy, settings: AlignSettings) -> list[Tensor]:
    """What the term of Eq. 8 learns from: the corpus' own dialogues."""
    if not settings.pretrain_coefficient:
        return []
    merged = [merge_turns(episode.turns, episode) for episode in episodes]
    chunks = dialogue_chunks(merged, policy.tokenizer, settings.window)
    if not chunks:
        raise UnitError(
            "pretrain_coefficient: no dialogue outside the test sessions answers anybody, so there is nothing "
            "for that term to learn from. Add sessions, or set it to 0."
        )
    return chunks


class PPO:
    """Everything that changes while a policy is trained: adapters, value head, optimizer, running score moments.

    Random numbers (sampling, order) come from torch's global generators, which the caller seeds.

    ``model``: the policy's model with its adapters. ``contexts``: what is answered; each once before any comes again.
    ``partner``: the other side of responses of several turns (``settings.max_turns``); None where a response is one
    turn. ``dialogues`` [shape=(L,)], int64: token ids of the corpus' own dialogues, for
    ``settings.pretrain_coefficient``. ``processes``: the processes that share each step; None where there is but one.
    Each samples, scores and learns from its part of the responses. All else, random order included, is the first one's
    or the same in all. ``penalties``: what replies lose; None for nothing.
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
        penalties: Penalties | None = None,
    ) -> None:
        self.policy = policy
        self.penalties = penalties
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
        self.draw: Draw | None = None
        if settings.generation == "vllm":
            from apportion.rlhf.sampling.vllm_engine import VLLMReplies

            self.draw = VLLMReplies(policy, model, settings)

    def run(self, run: Run, checkpoints: Checkpoints | None = None) -> None:
        """Train up to ``settings.steps`` steps, or until gold falls; ``run.metrics`` receives every step's, from 1.

        With ``checkpoints`` the training goes on behind the newest one and leaves one after every step.
        """
        metrics, steps = run.metrics, self.settings.steps
        done = self._resume(checkpoints, metrics) if checkpoints else 0
        # A run that was killed after its last step, before its end, has ended.
        ended = run.gold is not None and run.gold.fell(metrics)
        try:
            for step in () if ended else range(done + 1, steps + 1):
                started = time.perf_counter()
                ended = step_ended(run, self.alarms, step, self.step(step), self.actor.model)
                if checkpoints:
                    checkpoints.save(step, self.state(), metrics, self.alarms.calm)
                rate = self.settings.batch_size / (time.perf_counter() - started)
                run.progress(step, steps, progress_line(self.settings.algorithm, step, metrics.at(step), rate))
                if ended:
                    break
        except UnitError as error:
            last_good = checkpoints.kept() if checkpoints else None
            raise UnitError(f"{error} {last_good}" if last_good else str(error)) from None

    def step(self, number: int) -> dict[str, float]:
        """One step; the metrics are means over the responses sampled in it."""
        places = self.processes.broadcast([next(self.order) for _ in range(self.settings.batch_size)])
        contexts = [self.contexts[place] for place in places[self.processes.contiguous_part(len(places))]]
        with finite_probabilities():
            sampled = self._sample(contexts)
        rollout, scores = self._gather(sampled, self._scores(number, contexts, sampled))
        experience, observed = self._experience(rollout, scores, places)
        losses = self.update(number, experience)
        counted = len(rollout.endings) if self.settings.reward == OUTCOME else len(scores)
        ended = measured_endings(rollout.endings)
        return {"reward": math.fsum(scores) / counted, **observed, **ended, **losses}

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
                "reward": reward_state(self.reward),
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
        load_reward_state(self.reward, plain.get("reward"))

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
                draw=self.draw,
            )
        return sample_dialogues(self.policy, self.actor.model, contexts, self.partner, settings)

    def _scores(self, number: int, contexts: Sequence[DialogueContext], rollout: Rollout) -> list[float]:
        answered = rollout.answered(contexts)
        where = f"{self.settings.algorithm.upper()} step {number}"
        return finite_scores(self.reward, answered, rollout.histories, rollout.texts, where, rollout.endings)

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
        lost: list[float] = []
        if self.penalties:
            lost = self.penalties(rollout.said, [places[row] for row in rollout.turn_ends[:, 0].tolist()])
        rows = rollout.turn_ends[:, 0].tolist()
        last = [row != after for row, after in zip(rows, [*rows[1:], None], strict=True)]
        paid = at_the_end(last, settings)
        scores = normalized_scores(scores, self.score_norm, settings, lost, paid, rollout.endings)
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
        if lost:
            observed["penalty"] = math.fsum(lost) / len(lost)
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
