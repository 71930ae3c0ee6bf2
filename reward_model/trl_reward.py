"""A reward model as TRL's GRPO takes it: `GRPOTrainer(reward_funcs=GRPOReward(model), …)`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from apportion.credit import turns_of
from apportion.foundation.errors import InputError
from apportion.llm_client.prompts.strict_json import answer_of
from apportion.reward_model.history_windows import Said, said_in_chat
from apportion.reward_model.model import RewardModel

Completion = str | Sequence[Mapping[str, Any]]
SPEAKS = {"act": "text"}
"""By the name of a tool by which the policy speaks, the argument that it says: of `ToolEpisode`'s."""


class TurnRewards(NamedTuple):
    """What the policy said in one completion: the ``advantage`` of each of its K turns, and which turn (from 0) each of
    its M assistant messages is part of, ``of_message``: a turn may call tools before it says something.

    No turns where it said nothing.
    """

    advantage: tuple[float, ...]
    of_message: tuple[int, ...]

    @property
    def paid(self) -> tuple[float, ...]:
        """The advantages; of one who said nothing, of the tokens that it wrote: one turn, paid 0."""
        return self.advantage or (0.0,)

    def turn_of(self, model_tokens: ArrayLike) -> NDArray[np.int64]:
        """`apportion.credit.turns_of`, where each assistant message is one run of tokens; raises as that."""
        return turns_of(model_tokens, self.of_message or (0,))


class _Line(NamedTuple):
    """What was said in the ``message`` of that number: ``name`` None for the assistant, ``text`` None for no words."""

    name: str | None
    text: str | None
    message: int


class GRPOReward:
    """The advantage of each completion in its dialogue, in the units of the turn rewards that the model learned.

    It is r_theta less what the dialogue before the completion foretells (`apportion.reward_model.model.TurnScores`); of
    a completion of several turns, with others' turns in between, their sum.

    TRL 1.16 calls a reward function with ``prompts``, ``completions`` and ``completion_ids``, one of each a completion,
    and with the data set's other columns, ``trainer_state``, ``log_extra`` and ``log_metric`` by keyword; it takes one
    number each, or None where the function does not apply. A reward model itself must not be given to it: TRL would
    take any torch module for a sequence classifier.

    ``model``: A reward model, or the folder of one. ``name``: What TRL's logs call the reward. ``speaks``: The tools by
    which the policy speaks, and the argument that it says; what such a tool answers is what the other side said.
    """

    def __init__(
        self, model: RewardModel | str | Path, name: str = "apportion", speaks: Mapping[str, str] = SPEAKS
    ) -> None:
        self.model = model if isinstance(model, RewardModel) else RewardModel.from_pretrained(model)
        self.__name__ = name
        self._speaks = dict(speaks)

    def __call__(
        self, prompts: Sequence[Completion], completions: Sequence[Completion], **others: Any
    ) -> list[float | None]:
        """One reward a completion (B of them), None where the policy said nothing (it called other tools alone).

        Prompts and completions are plain text or messages. A plain prompt is one turn of the user. System messages and
        other tools and their answers are not read: the reward model was trained on what people said. Where several
        people are the user, ``name`` in a message tells them apart.

        Raises InputError: A prompt or completion that is neither text nor messages.
        """
        turns = self.turns(prompts, completions)
        return [sum(of.advantage) if of.advantage else None for of in turns]

    def turns(
        self, prompts: Sequence[Completion], completions: Sequence[Completion], **others: Any
    ) -> list[TurnRewards]:
        """The advantages of the turns of each completion (B of them). Raises as a call."""
        dialogues: list[list[Said]] = []
        places: list[tuple[int, tuple[int, ...]]] = []
        for prompt, completion in zip(prompts, completions, strict=True):
            asked = self._lines(prompt, "user", "prompt")
            said = [(line.name, line.text) for line in asked if line.text is not None]
            first, of_message = len(dialogues), list[int]()
            for turn in _turns(self._lines(completion, "assistant", "completion")):
                name, texts = turn[0].name, [line.text for line in turn if line.text is not None]
                if texts:
                    said.append((name, " ".join(texts)))
                if name is None:
                    dialogues += [said_in_chat(said)] if texts else []
                    of_message += [max(0, len(dialogues) - first - 1)] * len({line.message for line in turn})
            places.append((len(dialogues) - first, tuple(of_message)))
        paid = iter(self.model.score_last(dialogues).advantage.tolist())
        return [TurnRewards(tuple(next(paid) for _ in range(count)), of) for count, of in places]

    def _lines(self, given: Completion, role: str, what: str) -> list[_Line]:
        if isinstance(given, str):
            return [_Line(None, answer_of(given), 0) if role == "assistant" else _Line("", given, 0)]
        messages = [message for message in given if isinstance(message, Mapping)] if isinstance(given, Sequence) else []
        if not isinstance(given, Sequence) or len(messages) < len(given):
            raise InputError(f"{what} {str(given)[:80]!r}: neither text nor a list of messages with role and content.")
        found: list[_Line] = []
        for number, message in enumerate(messages):
            by, text = message.get("role", role), _text(message, what)
            if by == "assistant":
                text = None if text is None else answer_of(text)  # Nobody hears what a model reasons first.
                calls = message.get("tool_calls") or ()
                texts = [*([text] if text or (text is not None and not calls) else []), *self._spoken(calls)]
                found += [_Line(None, of, number) for of in texts] or [_Line(None, None, number)]
            elif text is not None and (by == "user" or (by == "tool" and message.get("name") in self._speaks)):
                found.append(_Line(str(message.get("name") or "") if by == "user" else "", text, number))
        return found

    def _spoken(self, calls: Sequence[Mapping[str, Any]]) -> list[str]:
        """What a message says by calling tools."""
        functions = [call.get("function", call) for call in calls]
        said = [
            _arguments(function.get("arguments")).get(self._speaks[function["name"]])
            for function in functions
            if function.get("name") in self._speaks
        ]
        return [str(text) for text in said if text]


def _turns(lines: Sequence[_Line]) -> list[list[_Line]]:
    """Lines of the assistant with nobody else's in between are one turn."""
    found: list[list[_Line]] = []
    for line in lines:
        if found and line.name is None and found[-1][0].name is None:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def _arguments(given: Any) -> Mapping[str, Any]:
    """A call's arguments, which some write as JSON; nothing where a policy wrote nonsense."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return {}
    return given if isinstance(given, Mapping) else {}


def _text(message: Mapping[str, Any], what: str) -> str | None:
    """A message's words; of one in parts (text and pictures) the text. None where it has none, as with a tool call."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, Sequence) and all(isinstance(part, Mapping) for part in content):
        return " ".join(str(part["text"]) for part in content if part.get("type") == "text")
    raise InputError(f"{what}: content {str(content)[:80]!r}; it must be text or a list of parts.")
