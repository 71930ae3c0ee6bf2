"""DPO (Rafailov et al., 2023) by TRL's trainer: the best of a context's replies is preferred to the worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from peft import PeftModel
from trl import DPOTrainer
from trl.trainer.dpo_trainer import DataCollatorForPreference

from apportion.rlhf.policy.lora import adapter_config
from apportion.rlhf.ppo.actor_critic import ActorCritic
from apportion.rlhf.sampling.rollout import Rollout, finite_probabilities, sample_replies
from apportion.rlhf.trainers.grpo_rloo import Sampling, asked_rows, group_reward
from apportion.rlhf.trainers.running import preference_arguments, run_trainer
from apportion.rlhf.training.job import Run
from apportion.rlhf.training_data import TrainingData


def train_dpo(data: TrainingData, run: Run) -> PeftModel:
    """The policy's model with adapters trained by DPO on pairs that it samples itself, anew in each step."""
    rows = asked_rows(data.policy, data.contexts, run)
    return run_trainer(run, lambda folder: _DPO(data, run, folder, rows))


class _DPO(Sampling, DPOTrainer):  # type: ignore[misc]
    def __init__(self, data: TrainingData, run: Run, folder: Path, rows: Dataset) -> None:
        self.policy = data.policy
        self.settings = run.settings
        self.contexts = data.contexts
        self.reward = group_reward(data, run)
        self.places = []
        self.observed = {}
        self._pairs: list[dict[str, list[int]]] = []
        self._collate = DataCollatorForPreference(pad_token_id=self.policy.pad_id)
        super().__init__(
            model=self.policy.model,
            args=preference_arguments(run, folder),
            data_collator=_places,
            train_dataset=rows,
            processing_class=self.policy.tokenizer,
            peft_config=adapter_config(self.policy.model, run.settings.adapter),
        )

    def _prepare_dataset(self, dataset: Dataset, *others: Any) -> Dataset:
        """As it is: there are no pairs yet."""
        return dataset

    def floating_point_ops(self, inputs: Any) -> int:
        """Not counted: a batch is but the contexts that are answered."""
        return 0

    def get_batch_samples(self, *given: Any) -> Any:
        """A step's contexts, in the parts whose pairs go through the model at once."""
        batches, count = super().get_batch_samples(*given)
        group = self.settings.num_generations
        self.places = [place for batch in batches for place in batch["context"].tolist() for _ in range(group)]
        return batches, count

    def _prepare_inputs(self, inputs: Any) -> Any:
        # Not where batches are drawn: a run that goes on sets its random numbers only after that.
        if not self._pairs:
            self._pairs = self._sample()
        size = len(inputs["context"])
        pairs, self._pairs = self._pairs[:size], self._pairs[size:]
        return super()._prepare_inputs(self._collate(pairs))

    def compute_loss(self, model: Any, inputs: Any, *others: Any, **options: Any) -> Any:
        """DPO's loss; 0 where no pair differs: Adam would follow the rounding of gradients that cancel."""
        loss = super().compute_loss(model, inputs, *others, **options)
        chosen, rejected = inputs["input_ids"].chunk(2)
        return loss * 0.0 if torch.equal(chosen, rejected) else loss

    def _sample(self) -> list[dict[str, list[int]]]:
        """A pair for each context of the step, out of the replies that the policy gives to it now."""
        model = self.accelerator.unwrap_model(self.model)
        window = self.settings.window
        asked = [self.contexts[place] for place in self.places]
        with finite_probabilities():
            rollout = sample_replies(
                self.policy, model, asked, max_new_tokens=window.max_new_tokens, temperature=window.temperature
            )
        replies = [[text] for text in rollout.texts]
        said = rollout.said
        scores = self.reward(asked, (), self.places, self.state, replies=replies, completion_ids=said)
        self._read(rollout, model)
        group = self.settings.num_generations
        chosen = [
            (start + best, start + worst)
            for start in range(0, len(scores), group)
            for best, worst in [best_and_worst(scores[start : start + group], self.settings.preference_margin)]
        ]
        apart = gather_object([best != worst for best, worst in chosen])
        self.observed["pairs"] = sum(apart) / len(apart)
        model.train()
        return [
            {"prompt_ids": list(asked[best].prompt), "chosen_ids": said[best], "rejected_ids": said[worst]}
            for best, worst in chosen
        ]

    @torch.no_grad()
    def _read(self, rollout: Rollout, model: Any) -> None:
        """Measure the replies, as many at once as an update's."""
        actor = ActorCritic(model, self.settings.temperature).eval()
        parts = [rollout.rows(part) for part in torch.split(torch.arange(len(rollout.mask)), self.settings.at_once)]
        now = [(stats.logp, stats.entropy) for stats in map(actor, parts)]
        logp, entropy = (torch.cat(values) for values in zip(*now, strict=True))
        divergence = (logp - torch.cat([actor.reference_logp(part) for part in parts])) * rollout.mask
        self.observe(divergence, entropy, rollout.replies, rollout.mask)

    def step_metrics(self, logs: Mapping[str, float]) -> dict[str, float]:
        return {**self.observed, "loss": logs["loss"], "margin": logs["rewards/margins"]}


def _places(rows: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
    return {"context": torch.tensor([row["context"] for row in rows])}


def best_and_worst(scores: Sequence[float], margin: float) -> tuple[int, int]:
    """Places of the highest and of the lowest of ``scores``; the highest's twice where they differ by less.

    A reply that is preferred to itself teaches nothing: its likelihood is raised as much as it is lowered.

    >>> best_and_worst([1.0, 3.0, 0.5], 1.0), best_and_worst([1.0, 1.5], 1.0)
    ((1, 2), (1, 1))
    """
    best = max(range(len(scores)), key=lambda place: scores[place])
    worst = min(range(len(scores)), key=lambda place: scores[place])
    apart = scores[best] - scores[worst]
    return best, worst if apart > 0 and apart >= margin else best
