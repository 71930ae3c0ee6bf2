"""Supervised fine-tuning on what the target said, by TRL's trainer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import PeftModel
from trl import SFTTrainer

from apportion.corpus.session import Episode
from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.contexts import DialogueContext, answer_tokens, merge_turns, spoken
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
    return train_on(policy, supervised_examples(policy, data.contexts, data.episodes, run.settings.max_new_tokens), run)


def train_on(
    policy: Policy, examples: Sequence[Mapping[str, Any]], run: Run, adapted: PeftModel | None = None
) -> PeftModel:
    """A model with adapters that have learned ``examples``, each ``input_ids`` and ``labels`` as `supervised_examples`.

    ``adapted``: the policy's model with adapters that go on learning; None puts new ones on it.
    """
    rows = rows_of_steps(examples, run)

    def make(folder: Path) -> _SFT:
        return _SFT(
            policy,
            model=adapted or policy.model,
            args=supervised_arguments(run, folder),
            train_dataset=rows,
            processing_class=policy.tokenizer,
            peft_config=None if adapted else adapter_config(policy.model, run.settings.adapter),
        )

    return run_trainer(run, make)


def rows_of_steps(examples: Sequence[Mapping[str, Any]], run: Run) -> Dataset:
    """Out of the examples those of every step, in order: a resumed run finds its place by count.

    Raises UnitError: there are none.
    """
    if not examples:
        name = run.settings.algorithm
        raise UnitError(f"the target answers nobody in words, so there is nothing for {name} to learn. Add sessions.")
    order = ShuffledOrder(len(examples), generator=torch.Generator().manual_seed(run.seed))
    count = run.settings.steps * run.settings.batch_size
    return Dataset.from_list(list(examples)).select([next(order) for _ in range(count)])


@dataclass(frozen=True)
class Recorded:
    """What the target said to a context: its ``turns`` in a row, their words, and the token ids of these."""

    context: DialogueContext
    turns: tuple[int, ...]
    text: str
    tokens: list[int]

    def judged(self, thumbs: Mapping[tuple[str, int], bool]) -> bool | None:
        """Whether people judged it good, by their last judgement in ``thumbs``; None without one."""
        found = [thumbs[place] for turn in self.turns if (place := (self.context.session_id, turn)) in thumbs]
        return found[-1] if found else None


def recorded_replies(
    policy: Policy, contexts: Sequence[DialogueContext], episodes: Sequence[Episode], max_new_tokens: int
) -> list[Recorded]:
    """What the target said to each context, up to and with the end mark.

    A turn that is longer than ``max_new_tokens`` is cut, and has no end mark then. Turns without words give nothing.
    """
    places = {
        (episode.session_id, episode.turns[position].turn): (episode, position)
        for episode in episodes
        for position in episode.target_positions
    }
    found = []
    for context in contexts:
        episode, position = places[context.session_id, context.turn]
        if episode.turns[position].text.strip():
            said = merge_turns(episode.turns[position:], episode)[0]
            _, mine = next(groupby(spoken(episode.turns[position:]), key=attrgetter("speaker")))
            tokens = list(answer_tokens(policy, context.messages, said)[:max_new_tokens])
            found.append(Recorded(context, tuple(turn.turn for turn in mine), said.text, tokens))
    return found


def supervised_examples(
    policy: Policy, contexts: Sequence[DialogueContext], episodes: Sequence[Episode], max_new_tokens: int
) -> list[dict[str, list[int]]]:
    """``input_ids`` (prompt, then what the target said and its end mark) and ``labels``, ignored in the prompt."""
    return [
        {
            "input_ids": [*said.context.prompt, *said.tokens],
            "labels": [IGNORED] * len(said.context.prompt) + said.tokens,
        }
        for said in recorded_replies(policy, contexts, episodes, max_new_tokens)
    ]


class _SFT(StepTrainer, SFTTrainer):  # type: ignore[misc]
    def __init__(self, policy: Policy, **trainer: Any) -> None:
        self.policy = policy
        super().__init__(**trainer)

    def step_metrics(self, logs: Mapping[str, float]) -> dict[str, float]:
        return {ours: logs[theirs] for theirs, ours in MEASURED.items() if theirs in logs}
