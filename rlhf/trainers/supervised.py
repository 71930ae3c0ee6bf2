"""Supervised fine-tuning on what the target said, by TRL's trainer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import PeftModel
from trl import SFTTrainer

from apportion.corpus.session import Episode
from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.contexts import DialogueContext, answer_tokens, merge_turns
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.lora import adapter_config
from apportion.rlhf.trainers.running import StepTrainer, run_trainer, supervised_arguments
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.rng_state import ShuffledOrder
from apportion.rlhf.training_data import TrainingData

IGNORED = -100
MEASURED = {"loss": "loss", "entropy": "entropy", "mean_token_accuracy": "token_accuracy"}
"""What the trainer measures, and what it is called here."""


def train_supervised(data: TrainingData, run: Run) -> PeftModel:
    """The policy's model with adapters that have learned what the target said to each context."""
    policy = data.policy
    examples = supervised_examples(policy, data.contexts, data.episodes, run.settings.max_new_tokens)
    if not examples:
        raise UnitError("the target answers nobody in words, so there is nothing for sft to learn. Add sessions.")
    order = ShuffledOrder(len(examples), generator=torch.Generator().manual_seed(run.seed))
    steps = run.settings.steps * run.settings.batch_size
    rows = Dataset.from_list(examples).select([next(order) for _ in range(steps)])

    def make(folder: Path) -> _SFT:
        return _SFT(
            policy,
            model=policy.model,
            args=supervised_arguments(run, folder),
            train_dataset=rows,
            processing_class=policy.tokenizer,
            peft_config=adapter_config(policy.model, run.settings.adapter),
        )

    return run_trainer(run, make)


def supervised_examples(
    policy: Policy, contexts: Sequence[DialogueContext], episodes: Sequence[Episode], max_new_tokens: int
) -> list[dict[str, list[int]]]:
    """``input_ids`` (prompt, then what the target said and its end mark) and ``labels``, ignored in the prompt.

    A turn that is longer than ``max_new_tokens`` is cut, and has no end mark then. Turns without words give nothing.
    """
    places = {
        (episode.session_id, episode.turns[position].turn): (episode, position)
        for episode in episodes
        for position in episode.target_positions
    }
    examples = []
    for context in contexts:
        episode, position = places[context.session_id, context.turn]
        if episode.turns[position].text.strip():
            reply = merge_turns(episode.turns[position:], episode)[0]
            labels = list(answer_tokens(policy, context.messages, reply)[:max_new_tokens])
            prompt = list(context.prompt)
            examples.append({"input_ids": prompt + labels, "labels": [IGNORED] * len(prompt) + labels})
    return examples


class _SFT(StepTrainer, SFTTrainer):  # type: ignore[misc]
    def __init__(self, policy: Policy, **trainer: Any) -> None:
        self.policy = policy
        super().__init__(**trainer)

    def step_metrics(self, logs: Mapping[str, float]) -> dict[str, float]:
        return {ours: logs[theirs] for theirs, ours in MEASURED.items() if theirs in logs}
