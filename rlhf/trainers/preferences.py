"""DPO (Rafailov et al., 2023) and KTO (Ethayarajh et al., 2024) by TRL's trainers.

DPO prefers the best of a context's sampled replies to the worst; KTO learns what was said, as good or as bad.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from peft import PeftModel
from trl import DPOTrainer, KTOTrainer
from trl.trainer.dpo_trainer import DataCollatorForPreference
from trl.trainer.kto_trainer import DataCollatorForUnpairedPreference

from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.lora import adapter_config
from apportion.rlhf.ppo.actor_critic import ActorCritic
from apportion.rlhf.sampling.rollout import Rollout, finite_probabilities, sample_replies
from apportion.rlhf.trainers.grpo_rloo import Sampling, asked_rows, group_reward
from apportion.rlhf.trainers.running import StepTrainer, preference_arguments, run_trainer, unpaired_arguments
from apportion.rlhf.trainers.supervised import Recorded, recorded_replies, rows_of_steps
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.reward import ScoreNorm, best_and_worst, finite_scores, normalized_scores
from apportion.rlhf.training_data import TrainingData


def train_dpo(data: TrainingData, run: Run) -> PeftModel:
    """The policy's model with adapters trained by DPO on pairs that it samples itself, anew in each step."""
    rows = asked_rows(data.policy, data.contexts, run)
    return run_trainer(run, lambda folder: _DPO(data, run, folder, rows))


class _AsItIs:
    def _prepare_dataset(self, dataset: Dataset, *others: Any) -> Dataset:
        """As it is: tokens already, or contexts that have no pairs yet."""
        return dataset


class _DPO(Sampling, _AsItIs, DPOTrainer):  # type: ignore[misc]
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


def train_on_pairs(policy: Policy, pairs: Sequence[Mapping[str, Any]], run: Run, adapted: PeftModel) -> PeftModel:
    """``adapted``, the policy's model with adapters, that has learned by DPO to prefer what was chosen.

    ``pairs``: token ids ``prompt_ids``, ``chosen_ids`` and ``rejected_ids``, which may hold others' words; what counts
    of the last two is 1 in ``chosen_mask`` and ``rejected_mask``, so that a segment of several turns is one sum (SDPO,
    Kong et al., 2025). The reference is what ``adapted`` is when this is called.
    """
    rows = rows_of_steps(pairs, run)

    def make(folder: Path) -> _PairsDPO:
        return _PairsDPO(
            policy,
            model=adapted,
            args=preference_arguments(run, folder),
            data_collator=_Masked(pad_token_id=policy.pad_id),
            train_dataset=rows,
            processing_class=policy.tokenizer,
        )

    trained = run_trainer(run, make, watched=False)  # Nothing is sampled.
    trained.delete_adapter("ref")  # TRL's copy of what the adapters were.
    return trained


class _Masked(DataCollatorForPreference):  # type: ignore[misc]
    """Of each completion only what its mask says counts."""

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = super().torch_call(examples)
        masks = [(row, row[side]) for side in ("chosen_mask", "rejected_mask") for row in examples]
        for number, (row, mask) in enumerate(masks):
            begin = len(row["prompt_ids"])
            made["completion_mask"][number, begin : begin + len(mask)] = torch.tensor(mask)
        return made


class _PairsDPO(StepTrainer, _AsItIs, DPOTrainer):  # type: ignore[misc]
    def __init__(self, policy: Policy, **trainer: Any) -> None:
        self.policy = policy
        super().__init__(**trainer)

    def step_metrics(self, logs: Mapping[str, float]) -> dict[str, float]:
        return {"loss": logs["loss"], "margin": logs["rewards/margins"]}


def train_kto(data: TrainingData, run: Run) -> PeftModel:
    """The policy's model with adapters trained by KTO on what the targets said, and samples nothing.

    Raises UnitError: nothing was said in words, or all of it is good, or bad.
    """
    policy = data.policy
    said = recorded_replies(policy, data.contexts, data.episodes, run.settings.max_new_tokens)
    liked = were_good(said, data, run)
    rows = rows_of_steps(
        [
            {"prompt_ids": list(one.context.prompt), "completion_ids": one.tokens, "label": good}
            for one, good in zip(said, liked, strict=True)
        ],
        run,
    )
    good, bad = sum(liked), len(liked) - sum(liked)
    if not (good and bad):
        raise UnitError(
            f"kto learns from good turns and from bad ones, and of {len(liked)} turns {good} are good. Add sessions, "
            "or labels of turns by people, or take sft, which learns from all."
        )

    def make(folder: Path) -> _KTO:
        return _KTO(
            policy,
            sum(one.judged(data.thumbs) is not None for one in said) / len(said),
            model=policy.model,
            args=unpaired_arguments(run, folder, good, bad),
            data_collator=_Mismatched(pad_token_id=policy.pad_id),
            train_dataset=rows,
            processing_class=policy.tokenizer,
            peft_config=adapter_config(policy.model, run.settings.adapter),
        )

    return run_trainer(run, make)


def were_good(said: Sequence[Recorded], data: TrainingData, run: Run) -> list[bool]:
    """Whether each reply was good: by people where they judged one of its turns, else by the sign of its reward.

    With ``score_norm`` a reward above the mean is good.
    """
    if not said:
        return []
    asked = [one.context for one in said]
    read = ([context.history for context in asked], [one.text for one in said])
    scores = finite_scores(data.reward, asked, *read, run.settings.algorithm.upper())
    paid = normalized_scores(scores, ScoreNorm(), run.settings)
    judged = [one.judged(data.thumbs) for one in said]
    return [score > 0 if thumb is None else thumb for thumb, score in zip(judged, paid, strict=True)]


class _Mismatched(DataCollatorForUnpairedPreference):  # type: ignore[misc]
    """Beside each reply that of the row before it, by which KTO estimates how far the policy has gone."""

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        before = [examples[-1], *examples[:-1]]
        pairs = zip(examples, before, strict=True)
        made: dict[str, Any] = super().torch_call(
            [{**row, "KL_completion_ids": other["completion_ids"]} for row, other in pairs]
        )
        return made


class _KTO(StepTrainer, _AsItIs, KTOTrainer):  # type: ignore[misc]
    def __init__(self, policy: Policy, judged: float, **trainer: Any) -> None:
        self.policy = policy
        self._judged = judged
        super().__init__(**trainer)

    def step_metrics(self, logs: Mapping[str, float]) -> dict[str, float]:
        ends = [logs[name] for name in ("rewards/chosen", "rewards/rejected") if name in logs]
        # A small batch may hold turns of one kind alone.
        margin = {"margin": ends[0] - ends[1]} if len(ends) == 2 else {}
        return {"loss": logs["loss"], "entropy": logs["entropy"], "judged": self._judged, **margin}
