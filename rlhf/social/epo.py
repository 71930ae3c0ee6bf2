"""EPO: a reasoning language model writes an open strategy before each act (Liu et al., 2025, EPO: explicit policy
optimization for strategic reasoning in LLMs via reinforcement learning).

The strategies' tokens are trained by policy gradient over turns; the language model that speaks reads each strategy
and is frozen.

Choices where the paper leaves one, or cannot be followed:

- The reasoning model is the same base with adapters of its own, so that one model is in memory.
- The paper trains without a supervised start. A model as small as those here writes no strategy of use untrained, so
  it first learns to write those of the expert script's acts (`apportion.rlhf.social.strategies`); ``epochs`` says how
  long.
- The paper's process reward model names the turns that mattered. Here the return is the exact goal score, discounted
  to each act, less that of other episodes of the task: credit by turn without another model.
- One agent is trained against the partner that ``partner`` names; theirs plays against itself in turns.
- In play the likeliest tokens are taken. What was taught is held by `ANCHOR`: without it, at ``lr`` = 3e-3, `tiny`
  wrote no words any more after two rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.sampling.policy_agent import PolicyAgent
from apportion.rlhf.sampling.rollout import finite_probabilities, sample_replies
from apportion.rlhf.social.episodes import SeatStep
from apportion.rlhf.social.planner import Decision, LearnedPlanner
from apportion.rlhf.social.reinforce import DrawingPlanner, train_planner
from apportion.rlhf.social.run import SocialRun
from apportion.rlhf.social.strategies import STRATEGIES, answer, strategy_of

MOST_TOKENS = 24
"""Of a strategy."""
REASONER, SPEAKER = "reasoner", "default"
"""Names of the adapters: what writes strategies, and what reads them, which is frozen."""


class ReasoningPlanner(DrawingPlanner):
    """Adapters on the frozen model that write a strategy."""

    method, example = "epo", "epo@FOLDER"
    cue = "(Which strategy do you follow in your next act?)"

    def __init__(self, policy: PolicyAgent) -> None:
        from peft import LoraConfig

        super().__init__(policy)
        same = ("r", "lora_alpha", "target_modules", "fan_in_fan_out", "task_type")
        speaker = policy.model.peft_config[SPEAKER]
        policy.model.add_adapter(REASONER, LoraConfig(**{name: getattr(speaker, name) for name in same}))
        self._settle()

    @property
    def parameters(self) -> list[nn.Parameter]:
        """The reasoner's adapters."""
        return [one for name, one in self.policy.model.named_parameters() if f".{REASONER}." in name]

    def _settle(self) -> None:
        self.policy.model.set_adapter(SPEAKER)
        for name, weight in self.policy.model.named_parameters():  # What is set last would get gradients.
            weight.requires_grad_(f".{REASONER}." in name)

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """The model with the reasoner's adapters in place of the speaker's."""
        self.policy.model.set_adapter(REASONER)
        try:
            yield self.policy.model
        finally:
            self._settle()

    def decide(self, contexts: Sequence[DialogueContext], explores: bool) -> list[Decision]:
        """A strategy before each act, cut after `MOST_TOKENS`."""
        temperature = 1.0 if explores else None
        with self.writing() as model, finite_probabilities():
            drawn = sample_replies(
                self.policy.policy, model, contexts, max_new_tokens=MOST_TOKENS, temperature=temperature
            )
        return [
            Decision(torch.tensor(prompt), reply[kept], " ".join(text.split()))
            for prompt, reply, kept, text in zip(drawn.prompts, drawn.replies, drawn.mask, drawn.texts, strict=True)
        ]

    def known(self, steps: Sequence[SeatStep]) -> list[Decision]:
        """The words of the strategies that acts are nearest to."""
        rows = [answer(self.policy, step, self.cue, STRATEGIES[strategy_of(step)]) for step in steps]
        return [Decision(torch.tensor(row.prompt), torch.tensor(row.reply)) for row in rows]

    def log_probs(self, decisions: Sequence[Decision]) -> Tensor:
        """Of the strategies that were written: the sum over their tokens."""
        pad = partial(torch.nn.utils.rnn.pad_sequence, batch_first=True)
        rows = [torch.cat([one.state, one.choice]) for one in decisions]
        ids = pad(rows, padding_value=self.policy.policy.pad_id)
        attention = pad([torch.ones_like(row) for row in rows])
        counts = pad([torch.cat([0 * one.state, torch.ones_like(one.choice)]) for one in decisions])
        with self.writing() as model:
            scores = model(input_ids=ids, attention_mask=attention).logits[:, :-1].float()
        found: Tensor = scores.log_softmax(dim=2).gather(2, ids[:, 1:, None])[:, :, 0]
        return (found * counts[:, 1:]).sum(dim=1)

    def weights(self) -> dict[str, Tensor]:
        """The reasoner's adapters."""
        from peft import get_peft_model_state_dict

        return dict(get_peft_model_state_dict(self.policy.model, adapter_name=REASONER, save_embedding_layers=False))

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Take what `weights` gave."""
        from peft import set_peft_model_state_dict

        if self.weights().keys() != weights.keys():
            raise RuntimeError("adapters of other layers")
        set_peft_model_state_dict(self.policy.model, dict(weights), adapter_name=REASONER)


def train(run: SocialRun) -> LearnedPlanner:
    """As `train_planner`."""
    return train_planner(run, ReasoningPlanner)
