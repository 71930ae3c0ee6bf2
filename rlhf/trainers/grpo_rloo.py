"""GRPO (Shao et al., 2024), RLOO (Ahmadian et al., 2024) and RAFT (Dong et al., 2023) by TRL's trainers.

All three sample a group of replies to each context and score them by a reward model of turns.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from peft import PeftModel
from torch import Tensor
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

from apportion.rlhf.policy.contexts import DialogueContext, as_chat
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.lora import adapter_config
from apportion.rlhf.sampling.multi_turn import sample_dialogues
from apportion.rlhf.sampling.partner import Partner
from apportion.rlhf.sampling.rollout import finite_probabilities
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.trainers.group_advantages import GroupReward, charged, spread_over_tokens, turn_advantages
from apportion.rlhf.trainers.running import StepTrainer, group_arguments, run_trainer, scales
from apportion.rlhf.training.alarms import repetition, sameness
from apportion.rlhf.training.endings import StopReason, measured_endings
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.metrics import masked_mean
from apportion.rlhf.training.penalties import Penalties
from apportion.rlhf.training.refreshed_reward import load_reward_state, reward_state
from apportion.rlhf.training.reward import ScoreNorm
from apportion.rlhf.training.rng_state import ShuffledOrder
from apportion.rlhf.training_data import TrainingData


def train_grpo(data: TrainingData, run: Run) -> PeftModel:
    """The policy's model with adapters trained by GRPO."""
    return _train(_GRPO, GRPOConfig, data, run)


def train_rloo(data: TrainingData, run: Run) -> PeftModel:
    """The policy's model with adapters trained by RLOO; raises as `train_grpo`."""
    if run.settings.environment is not None:
        return _train(_LiveRLOO, GRPOConfig, data, run)
    return _train(_RLOO, RLOOConfig, data, run)


def train_raft(data: TrainingData, run: Run) -> PeftModel:
    """The policy's model with adapters trained by RAFT; raises as `train_grpo`."""
    return _train(_RAFT, GRPOConfig, data, run)


def _train(
    kind: type[_GRPO] | type[_RLOO], config: type[GRPOConfig] | type[RLOOConfig], data: TrainingData, run: Run
) -> PeftModel:
    reward = group_reward(data, run)
    rows = asked_rows(data.policy, data.contexts, run)

    def make(folder: Path) -> _Group:
        return kind(
            policy=data.policy,
            contexts=data.contexts,
            reward=reward,
            settings=run.settings,
            partner=data.partner,
            args=group_arguments(config, run, folder),
            train_dataset=rows,
        )

    return run_trainer(run, make)


def group_reward(data: TrainingData, run: Run) -> GroupReward:
    """What pays the replies of a trainer by TRL."""
    penalties = Penalties.of(run.settings, data.policy, data.episodes)
    return GroupReward(data.reward, data.contexts, run.settings, run.processes, penalties)


def asked_rows(policy: Policy, contexts: Sequence[DialogueContext], run: Run) -> Dataset:
    """The contexts of every step, in the order in which they are answered: a resumed run finds its place by count."""
    settings = run.settings
    order = ShuffledOrder(len(contexts), generator=torch.Generator().manual_seed(run.seed))
    rows = [
        {"prompt": as_chat(context.messages, policy.tokenizer), "context": number}
        for number, context in enumerate(contexts)
    ]
    return Dataset.from_list(rows).select(
        [next(order) for _ in range(settings.steps * settings.batch_size // settings.num_generations)]
    )


class Sampling(StepTrainer):
    """Part of a trainer that samples replies and has them scored: the step's metrics, and the moments of the scores."""

    accelerator: Any
    reward: GroupReward
    places: list[int]
    observed: dict[str, float]

    def observe(self, divergence: Tensor, entropy: Tensor, tokens: Tensor, mask: Tensor) -> None:
        """Take in a step's replies; all [shape=(B, L)], ``mask`` [bool] true for what the policy said itself."""
        divergence, entropy, tokens, counted = map(self._everywhere, (divergence, entropy, tokens, mask.long()))
        mask = counted.bool()
        self.observed = {
            "reward": math.fsum(self.reward.scores) / len(self.reward.scores),
            "kl": float(divergence.sum(dim=1).mean()),
            "response_tokens": float(mask.sum(dim=1).double().mean()),
            "entropy": float(masked_mean(entropy, mask)),
            "repetition": repetition(tokens, mask),
            "sameness": sameness(tokens, mask, gather_object(self.places)),
        }
        if lost := self.reward.lost:
            self.observed["penalty"] = math.fsum(lost) / len(lost)

    def own_state(self) -> Any:
        """The moments of the scores, and what has changed in what gives them."""
        return [*self.reward.score_norm.moments, reward_state(self.reward.by)]

    def load_own_state(self, state: Any) -> None:
        """Go on from what `own_state` gave."""
        self.reward.score_norm = ScoreNorm(*state[:4])
        load_reward_state(self.reward.by, *state[4:])

    def _everywhere(self, values: Tensor) -> Tensor:
        """The rows of all processes, padded with zeros to the longest; accelerate makes numbers of padded booleans."""
        rows: Tensor = self.accelerator.gather(self.accelerator.pad_across_processes(values, dim=1))
        return rows


class _Group(Sampling):
    """What is ours in all of them: exact histories for the reward, the step's metrics, turns' advantages."""

    divergence: Tensor

    def __init__(
        self,
        policy: Policy,
        contexts: Sequence[DialogueContext],
        reward: GroupReward,
        settings: AlignSettings,
        partner: Partner | None,
        **trainer: Any,
    ) -> None:
        self.policy = policy
        self.reward = reward
        self.settings = settings
        self.partner = partner
        self.contexts = contexts
        self.asked: list[DialogueContext] = []
        self.places: list[int] = []
        self.ends: list[list[int]] = []
        self.endings: Sequence[StopReason] = ()
        self.observed: dict[str, float] = {}
        parent: Any = super()
        parent.__init__(
            model=policy.model,
            reward_funcs=[reward],
            processing_class=policy.tokenizer,
            peft_config=adapter_config(policy.model, settings.adapter),
            **trainer,
        )
        if settings.generation == "vllm":
            from apportion.rlhf.sampling.vllm_engine import hand_merged

            reader: Any = self
            hand_merged(reader.vllm_generation, reader.model)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        self.places = [row["context"] for row in inputs]
        self.asked = [self.contexts[place] for place in self.places]
        parent: Any = super()
        with _sampling(self.model), finite_probabilities():
            output: dict[str, Any] = parent._generate_and_score_completions(inputs)
            self._observe(output)
        return output

    @torch.no_grad()
    def _observe(self, output: Mapping[str, Tensor]) -> None:
        tokens, mask = output["completion_ids"], output["completion_mask"]
        policy_mask = (mask * output["tool_mask"] if "tool_mask" in output else mask).bool()
        given = (
            torch.cat([output["prompt_ids"], tokens], dim=1),
            torch.cat([output["prompt_mask"], mask], dim=1),
            tokens.shape[1],
            self.settings.at_once,
        )
        reader: Any = self
        logp, entropy, _ = reader._get_per_token_logps_and_entropies(self.model, *given, compute_entropy=True)
        with self.accelerator.unwrap_model(self.model).disable_adapter():
            reference, _, _ = reader._get_per_token_logps_and_entropies(self.model, *given)
        self.divergence = (logp - reference) * policy_mask
        self.observe(self.divergence, entropy, tokens, policy_mask)
        self.observed |= measured_endings(gather_object(list(self.endings)))

    def step_metrics(self, logs: Mapping[str, float]) -> dict[str, float]:
        return {**self.observed, "policy_loss": logs["loss"], "clip_fraction": logs["clip_ratio/region_mean"]}


class _GRPO(_Group, GRPOTrainer):  # type: ignore[misc]
    others_alone = False

    def __init__(self, *, partner: Partner | None, **trainer: Any) -> None:
        several: dict[str, Any] = {"rollout_func": _converse} if partner else {}
        with warnings.catch_warnings():
            # That rollout functions are experimental; TRL's version is bounded in pyproject.toml.
            warnings.filterwarnings("ignore", message=".*rollout_func.*")
            super().__init__(partner=partner, **several, **trainer)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output = super()._generate_and_score_completions(inputs)
        by_turn = bool(self.ends) and self.settings.reward_placement == "turn"
        if by_turn or not scales(self.settings):
            output["advantages"] = self._advantages(by_turn)
        return output

    def _advantages(self, by_turn: bool) -> Tensor:
        """Advantages [shape=(B, L) by turns, else (B,)]; a group may lie across processes."""
        size, length = self.divergence.shape
        published = scales(self.settings)
        scores = self.reward.turns if by_turn else [[math.fsum(turns)] for turns in self.reward.turns]
        ends = self.ends if by_turn else [[length - 1]] * size
        # In the published form the divergence is in the loss.
        paid = charged(scores, ends, self.divergence, 0.0 if published else self.settings.divergence_weight)
        first = self.accelerator.process_index * size
        group = self.settings.num_generations
        here = turn_advantages(gather_object(paid), group, published, self.others_alone)[first : first + size]
        advantages = spread_over_tokens(here, ends, length) if by_turn else torch.tensor(here)[:, 0]
        return advantages.to(self.divergence.device)


class _RLOO(_Group, RLOOTrainer):  # type: ignore[misc]
    pass


class _LiveRLOO(_GRPO):
    """RLOO in an environment: its advantages in the loss of GRPO's trainer, since TRL's RLOO samples single turns."""

    others_alone = True


class _RAFT(_GRPO):
    """Of each group the best reply is kept and learned as in SFT, by its likelihood alone.

    The best is that of the highest score less ``beta`` times its divergence from the policy at the start.
    """

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output = super()._generate_and_score_completions(inputs)
        cost = self.settings.divergence_weight
        scores = (math.fsum(turns) for turns in self.reward.turns)
        nats = self.divergence.sum(dim=1).tolist()
        paid = torch.tensor([score - cost * far for score, far in zip(scores, nats, strict=True)])
        groups = paid.view(-1, self.settings.num_generations)
        best = groups.argmax(dim=1) + torch.arange(len(groups)) * self.settings.num_generations
        names = ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask")
        kept = {name: output[name][best.to(output[name].device)] for name in names}
        tokens = self.accelerator.gather(kept["completion_mask"].sum()).sum()
        # Without the log-probabilities of the policy that sampled, every ratio is 1.
        return {**kept, "advantages": torch.ones_like(kept["prompt_ids"][:, 0].float()), "num_items_in_batch": tokens}

    def step_metrics(self, logs: Mapping[str, float]) -> dict[str, float]:
        return {**self.observed, "loss": logs["loss"]}


def _converse(prompts: Sequence[Any], trainer: _GRPO) -> dict[str, Any]:
    """Responses of several turns, as TRL asks for them; ``env_mask`` is 0 on what the other side says."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    assert trainer.partner is not None
    rollout = sample_dialogues(trainer.policy, model, trainer.asked, trainer.partner, trainer.settings)
    # Sampling has put the whole model into evaluation; TRL tells its training from its evaluation by the top.
    model.training = True
    spoken = rollout.attention[:, -rollout.mask.shape[1] :].bool()
    rows = range(len(prompts))
    turns: list[list[int]] = [[] for _ in rows]
    for turn, row in enumerate(rollout.turn_ends[:, 0].tolist()):
        turns[row].append(turn)
    columns, said = rollout.turn_ends[:, 1].tolist(), rollout.said
    trainer.endings = rollout.endings
    trainer.ends = [[columns[turn] for turn in turns[row]] for row in rows]
    return {
        # In an environment others may have opened the dialogue since the context was made.
        "prompt_ids": rollout.prompts,
        "completion_ids": [tokens[read].tolist() for tokens, read in zip(rollout.replies, spoken, strict=True)],
        "logprobs": None,
        "env_mask": [mask[read].long().tolist() for mask, read in zip(rollout.mask, spoken, strict=True)],
        "replies": [[rollout.texts[turn] for turn in turns[row]] for row in rows],
        "histories": [[rollout.histories[turn] for turn in turns[row]] for row in rows],
        "said": [[said[turn] for turn in turns[row]] for row in rows],
        "ending": list(rollout.endings) or [None for _ in rows],
    }


@contextmanager
def _sampling(model: Any) -> Iterator[None]:
    """Dropout off, so that replies come from the policy itself; TRL still sees a model in training."""
    model.eval()
    model.training = True
    try:
        yield
    finally:
        model.train()
