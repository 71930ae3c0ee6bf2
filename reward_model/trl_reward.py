"""A reward model as TRL's GRPO takes it: `GRPOTrainer(reward_funcs=GRPOReward(model), …)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from apportion.foundation.errors import InputError
from apportion.reward_model.history_windows import Said, said_in_chat
from apportion.reward_model.model import RewardModel

Completion = str | Sequence[Mapping[str, Any]]
SPOKEN = ("user", "assistant")


class GRPOReward:
    """The advantage of each completion in its dialogue, in the units of the turn rewards that the model learned.

    It is r_theta less what the dialogue before the completion foretells (`apportion.reward_model.model.TurnScores`).

    TRL 1.16 calls a reward function with ``prompts``, ``completions`` and ``completion_ids``, one of each a completion,
    and with the data set's other columns, ``trainer_state``, ``log_extra`` and ``log_metric`` by keyword; it takes one
    number each, or None where the function does not apply. A reward model itself must not be given to it: TRL would
    take any torch module for a sequence classifier.

    ``model``: A reward model, or the folder of one. ``name``: What TRL's logs call the reward.
    """

    def __init__(self, model: RewardModel | str | Path, name: str = "apportion") -> None:
        self.model = model if isinstance(model, RewardModel) else RewardModel.from_pretrained(model)
        self.__name__ = name

    def __call__(
        self, prompts: Sequence[Completion], completions: Sequence[Completion], **others: Any
    ) -> list[float | None]:
        """One reward a completion (B of them), None where the policy said nothing (a call of a tool alone).

        Prompts and completions are plain text or messages. A plain prompt is one turn of the user. System messages,
        tools and their answers are not read: the reward model was trained on what people said. Where several people
        are the user, ``name`` in a message tells them apart.

        Raises InputError: A prompt or completion that is neither text nor messages.
        """
        dialogues = [_dialogue(*pair) for pair in zip(prompts, completions, strict=True)]
        places = [i for i, dialogue in enumerate(dialogues) if dialogue is not None]
        rewards: list[float | None] = [None] * len(dialogues)
        scores = self.model.score_last([dialogues[i] or [] for i in places])
        for i, paid in zip(places, scores.advantage.tolist(), strict=True):
            rewards[i] = paid
        return rewards


def _dialogue(prompt: Completion, completion: Completion) -> list[Said] | None:
    """The turns of the prompt and the reply at its end; None where there is no reply."""
    turns = _turns(prompt, "user", "prompt")
    replies = [text for name, text in _turns(completion, "assistant", "completion") if name is None]
    return said_in_chat([*turns, (None, " ".join(replies))]) if replies else None


def _turns(given: Completion, role: str, what: str) -> list[tuple[str | None, str]]:
    """Who says what: None for the assistant, else the message's name, which most have not."""
    if isinstance(given, str):
        return [(None if role == "assistant" else "", given)]
    messages = [message for message in given if isinstance(message, Mapping)] if isinstance(given, Sequence) else []
    if not isinstance(given, Sequence) or len(messages) < len(given):
        raise InputError(f"{what} {str(given)[:80]!r}: neither text nor a list of messages with role and content.")
    spoken = [message for message in messages if message.get("role", role) in SPOKEN]
    turns = [
        (None if message.get("role", role) == "assistant" else str(message.get("name") or ""), _text(message, what))
        for message in spoken
    ]
    return [(name, text) for name, text in turns if text is not None]


def _text(message: Mapping[str, Any], what: str) -> str | None:
    """A message's words; of one in parts (text and pictures) the text. None where it has none, as with a tool call."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, Sequence) and all(isinstance(part, Mapping) for part in content):
        return " ".join(str(part["text"]) for part in content if part.get("type") == "text")
    raise InputError(f"{what}: content {str(content)[:80]!r}; it must be text or a list of parts.")
