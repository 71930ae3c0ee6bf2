"""Supervised fine-tuning on what the target said, by TRL's trainer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from datasets import Dataset
from peft import PeftModel
from trl import SFTTrainer

from apportion.corpus.session import Episode
from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.answers import answer_tokens
from apportion.rlhf.policy.contexts import DialogueContext, merge_turns
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.lora import adapter_config
from apportion.rlhf.trainers.arguments import supervised_arguments
from apportion.rlhf.trainers.running import AdapterSaving, carry_out, trainer_checkpoints, trainer_folder
from apportion.rlhf.training.run import Run
from apportion.rlhf.training.shuffled import ShuffledOrder

IGNORED = -100
"""A label that has no part in the loss."""
MEASURED = {"loss": "loss", "entropy": "entropy", "mean_token_accuracy": "token_accuracy"}
"""What the trainer measures, and what it is called here."""


def train_supervised(
    policy: Policy, contexts: Sequence[DialogueContext], episodes: Sequence[Episode], run: Run
) -> PeftModel:
    """The policy's model with adapters that have learned what the target said to each context.

    Parameters
    ----------
    policy : Policy
        The policy at the start; its model receives the adapters.
    contexts : sequence of DialogueContext
        Histories of the target's turns; each once before any comes again.
    episodes : sequence of Episode
        The sessions that the contexts are of.
    run : Run
        Settings, seed, and where metrics, progress and checkpoints go.

    Raises
    ------
    InputError
        No layer of the names in ``settings.lora.targets``, or a chat template that writes prompts differently once they
        are answered.
    UnitError
        Nothing that the target said, a loss or gradient that is not a finite number, or a checkpoint that cannot be
        read.
    """
    examples = supervised_examples(policy, contexts, episodes, run.settings.max_new_tokens)
    if not examples:
        raise UnitError("the target answers nobody in words, so there is nothing for sft to learn. Add sessions.")
    order = ShuffledOrder(len(examples), generator=torch.Generator().manual_seed(run.seed))
    steps = run.settings.steps * run.settings.batch_size
    checkpoints = trainer_checkpoints(run)
    with trainer_folder(run, checkpoints) as folder:
        trainer = _SFT(
            policy,
            model=policy.model,
            args=supervised_arguments(run, folder),
            train_dataset=Dataset.from_list(examples).select([next(order) for _ in range(steps)]),
            processing_class=policy.tokenizer,
            peft_config=adapter_config(policy.model, run.settings.adapter),
        )
        carry_out(trainer, run, _SFTHooks(), checkpoints, watched=False)
    model: PeftModel = trainer.model
    return model


def supervised_examples(
    policy: Policy, contexts: Sequence[DialogueContext], episodes: Sequence[Episode], max_new_tokens: int
) -> list[dict[str, list[int]]]:
    """``input_ids`` (prompt, then what the target said and its end mark) and ``labels``, ignored in the prompt.

    A turn that is longer than ``max_new_tokens`` is cut, and has no end mark then. Turns without words give nothing.

    Raises
    ------
    InputError
        A chat template that writes prompts differently once they are answered.
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


class _SFT(AdapterSaving, SFTTrainer):  # type: ignore[misc]
    def __init__(self, policy: Policy, **trainer: Any) -> None:
        self.policy = policy
        super().__init__(**trainer)


class _SFTHooks:
    """What a step of SFT measured."""

    def metrics(self, logs: Mapping[str, float]) -> dict[str, float]:
        """The last step's metrics."""
        return {ours: logs[theirs] for theirs, ours in MEASURED.items() if theirs in logs}

    def state(self) -> Any:
        """Nothing beside the trainer's own."""
        return None

    def load_state(self, state: Any) -> None:
        """Nothing to take up."""
