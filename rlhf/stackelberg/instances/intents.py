"""What a leader would and would not like to hear next (Eq. 1): K desired and K undesired answers of the follower."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from apportion.foundation.errors import InputError
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, check_finished, strict_json
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.session import Complete, ask_until_usable
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.stackelberg.instances.instance import Instance
from apportion.rlhf.stackelberg.questions import INTENT, INTENTS, asked

Way = Literal["together", "apart"]
K = 3
"""Section 3.2."""
ATTEMPTS = 3
"""Times a model is asked, its mistake shown to it, before a turn is left without intents."""
TOKENS_AN_ANSWER = 45
"""About what one answer takes as JSON."""
_LONGEST = 2_000

Answers = tuple[tuple[str, ...], tuple[str, ...]]
"""Desired and undesired answers."""


@dataclass(frozen=True)
class IntentQuestions:
    """How one model is asked for intents.

    Parameters
    ----------
    settings : LLMSettings
        The model; its temperature is used as it is.
    k : int
        Answers of each kind.
    way : str
        ``together``: one request for all (Figure 6); ``apart``: K requests for one desired and one undesired answer
        each (Appendix C: "we sample K times").
    """

    settings: LLMSettings
    k: int = K
    way: Way = "together"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k = {self.k}: one desired and one undesired answer at least")

    def requests(self, instance: Instance) -> list[ChatRequest]:
        """What is asked about one turn; raises InputError where the prompt cannot be used."""
        prompt, count, times = (INTENTS, self.k, 1) if self.way == "together" else (INTENT, 1, self.k)
        blanks = {"situation": instance.leader_sees, "leader": instance.leader, "follower": instance.follower}
        messages = asked(prompt, {**blanks, "count": str(count)})
        return [
            ChatRequest(
                **self.settings.asking,
                messages=messages,
                schema=_schema(),
                sample=sample,
                subject=f"intents of {instance.leader!r}, turn {instance.name}",
            )
            for sample in range(times)
        ]

    @property
    def tokens_a_request(self) -> int:
        """About what one reply takes."""
        return 2 * TOKENS_AN_ANSWER * (self.k if self.way == "together" else 1)

    def ask(self, instance: Instance, complete: Complete) -> Instance:
        """The turn with its intents, asked for unless it has some; raises as `llm_client.session.ask_until_usable`."""
        if instance.desired:
            return instance
        count = self.k if self.way == "together" else 1
        answers = [ask_until_usable(complete, request, reader(count), ATTEMPTS) for request in self.requests(instance)]
        desired, undesired = (tuple(text for answer in answers for text in answer[kind]) for kind in (0, 1))
        return replace(instance, desired=desired, undesired=undesired)


def reader(count: int) -> Callable[[ChatReply], Answers]:
    """What makes answers, ``count`` of each kind, of a reply."""
    return lambda reply: read_answers(reply, count)


def read_answers(reply: ChatReply, count: int) -> Answers:
    """Desired and undesired answers of a reply, ``count`` each.

    Raises
    ------
    ReplyMistakeError
        Fewer or more of them, one that is empty, stands twice or is no text, or the reply cannot be used at all.
    """
    check_finished(reply, "write shorter answers")
    document = strict_json(reply.text)
    if not isinstance(document, dict) or document.keys() != {"desired", "undesired"}:
        raise ReplyMistakeError('the reply is not an object with "desired" and "undesired" and nothing else')
    desired, undesired = _texts(document, "desired", count), _texts(document, "undesired", count)
    if set(desired) & set(undesired):
        raise ReplyMistakeError("one answer is both desired and undesired")
    return desired, undesired


def _texts(document: dict[str, Any], name: str, count: int) -> tuple[str, ...]:
    values = document[name]
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ReplyMistakeError(f'"{name}" is no list of texts')
    texts = tuple(" ".join(value.split()) for value in values)
    if len(texts) != count:
        raise ReplyMistakeError(f'"{name}" has {len(texts)} answers; give exactly {count}')
    if not all(texts):
        raise ReplyMistakeError(f'"{name}" has an empty answer')
    if max(map(len, texts)) > _LONGEST:
        raise ReplyMistakeError(f'"{name}" has an answer of over {_LONGEST:,} characters; write one to three sentences')
    if len(set(texts)) < count:
        raise ReplyMistakeError(f'"{name}" has the same answer twice; give {count} different ones')
    return texts


def _schema() -> dict[str, Any]:
    answers = {"type": "array", "items": {"type": "string"}}
    return {
        "type": "object",
        "properties": {"desired": answers, "undesired": answers},
        "required": ["desired", "undesired"],
        "additionalProperties": False,
    }
