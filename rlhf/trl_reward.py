"""The reward model as TRL takes one: an entry of GRPOTrainer's ``reward_funcs``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corpus.errors import InputError
from reward_model.model import RewardModel

Message = Mapping[str, str]
Prompt = str | Sequence[Message]


class TRLReward:
    """r_theta of what a completion says last, for ``GRPOTrainer(reward_funcs=[TRLReward(model)])``.

    A reward model is an ``nn.Module``, which TRL takes for a sequence classifier; this is a plain callable. Prompts
    and completions may be texts or lists of messages (TRL's "standard" and "conversational" formats); a prompt that is
    text counts as one message of the user.
    """

    def __init__(self, model: RewardModel, name: str = "apportion") -> None:
        self.model = model
        self.__name__ = name  # TRL names the curve by it.

    def __call__(self, prompts: Sequence[Prompt], completions: Sequence[Prompt], **columns: Any) -> list[float]:
        """One reward a completion (B), in units of the turn rewards the model learned.

        ``columns`` are the others of TRL's batch; they are not read.

        Raises
        ------
        InputError
            Prompts and completions differ in number, or a completion has no message of the assistant.
        """
        if len(prompts) != len(completions):
            raise InputError(
                f"{len(prompts)} prompts and {len(completions)} completions: TRL's reward functions get one of each a "
                "sample. Call it as GRPOTrainer does."
            )
        rewards = []
        for number, (prompt, completion) in enumerate(zip(prompts, completions, strict=True), 1):
            said = _messages(completion, "assistant")
            if not said or said[-1].get("role") != "assistant":
                raise InputError(
                    f"completion {number}: its last message is not the assistant's, so there is no reply to score. "
                    "Give completions that end with what the policy said."
                )
            rewards.append(self.model.score([*_messages(prompt, "user"), *said])[-1])
        return rewards


def _messages(said: Prompt, role: str) -> list[Message]:
    return [{"role": role, "content": said}] if isinstance(said, str) else list(said)
