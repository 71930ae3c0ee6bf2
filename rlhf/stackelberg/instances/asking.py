"""What a language model is asked of turns (intents, Eq. 1; u_base, Eq. 2, Figure 7): priced, previewed, kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.many_requests import PlannedRequests, ask_each
from apportion.llm_client.model_spec import Called, ModelSpec
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, check_finished, object_schema, reply_json
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.session import Complete, ask_until_usable
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.stackelberg.instances.instance import Instance
from apportion.rlhf.stackelberg.questions import CLOSE, INTENT, INTENTS, OPEN, asked, speech_chat, spoken_words

Way = Literal["together", "apart"]
K = 3
"""Section 3.2."""
ATTEMPTS = 3
"""Times a model is asked, its mistake shown to it, before a turn is left without intents."""
TOKENS_AN_ANSWER = 45
"""About what one answer takes as JSON."""
_LONGEST = 2_000

Answers = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class IntentQuestions:
    """How one model is asked for intents.

    ``settings``: the model; its temperature is used as it is. ``way``: ``together``: one request for all (Figure 6);
    ``apart``: K requests for one desired and one undesired answer each (Appendix C: "we sample K times").
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
        read = partial(read_answers, count=self.k if self.way == "together" else 1)
        answers = [ask_until_usable(complete, request, read, ATTEMPTS) for request in self.requests(instance)]
        desired, undesired = (tuple(text for answer in answers for text in answer[kind]) for kind in (0, 1))
        return replace(instance, desired=desired, undesired=undesired)


def read_answers(reply: ChatReply, count: int) -> Answers:
    """Desired and undesired answers of a reply, ``count`` each."""
    document = reply_json(reply, "write shorter answers")
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
    return object_schema({"desired": answers, "undesired": answers})


TOKENS_A_SPEECH = 130
"""About what 100 words take."""
MOST_WORDS = 100
"""Figure 7."""
_AGAIN = f"Answer again, with at most {MOST_WORDS} words between {OPEN} and {CLOSE}."


@dataclass(frozen=True)
class BaseQuestions:
    """How one model is asked for what it would say."""

    settings: LLMSettings
    tokens_a_request: int = TOKENS_A_SPEECH

    def requests(self, instance: Instance) -> list[ChatRequest]:
        """What is asked about one turn: one request; raises InputError where the prompt cannot be used."""
        subject = f"base utterance of {instance.leader!r}, turn {instance.name}"
        return [ChatRequest(**self.settings.asking, messages=speech_chat(instance.leader_sees), subject=subject)]

    def ask(self, instance: Instance, complete: Complete) -> Instance:
        """The turn with the model's words in place of what was said; raises as `ask_until_usable`.

        What was answered was said to other words, and is left out.
        """
        (request,) = self.requests(instance)
        said = ask_until_usable(complete, request, read_speech, ATTEMPTS, _AGAIN)
        model = self.settings.model
        return replace(instance, said=said, answered="", backends=(model, instance.backends[1]))


def read_speech(reply: ChatReply) -> str:
    """The words of a reply, on one line."""
    check_finished(reply, "say less")
    words = spoken_words(reply.text)
    if not words:
        raise ReplyMistakeError("the reply says nothing")
    count = len(words.split())
    if count > MOST_WORDS:
        raise ReplyMistakeError(f"the reply has {count} words; at most {MOST_WORDS} are said")
    return words


TOO_LONG = "Leave that turn out, or use a model with a longer context."


Questions = IntentQuestions | BaseQuestions


@dataclass(frozen=True)
class Answered:
    """Turns with what was asked about them, and those of which no reply could be used, with why."""

    instances: tuple[Instance, ...]
    failed: tuple[tuple[str, str], ...]


def ask_about_instances(
    asked: Sequence[Questions],
    instances: Sequence[Instance],
    complete: Complete,
    concurrency: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Answered:
    """What is ``asked`` about every turn, one after the other.

    A turn of which no reply could be used is left out and told.

    Raises InputError: no request can succeed until a person changes something; StoppedError: the budget is used up;
    replies are kept, and the same call goes on.
    """

    def one(instance: Instance) -> Instance:
        for questions in asked:
            instance = questions.ask(instance, complete)
        return instance

    answers = ask_each(one, instances, concurrency, lambda done, last: progress(done, len(instances)))
    named = list(zip(instances, answers, strict=True))
    return Answered(
        tuple(answer for answer in answers if not isinstance(answer, UnitError)),
        tuple((instance.name, str(answer)) for instance, answer in named if isinstance(answer, UnitError)),
    )


def planned(
    asked: Sequence[tuple[Questions, Sequence[Instance]]], chosen: ModelSpec, cache: Path, called: Called
) -> PlannedRequests:
    """What would be sent, of each of ``asked`` about its turns."""
    requests = [
        (request, questions.tokens_a_request)
        for questions, instances in asked
        for instance in instances
        for request in questions.requests(instance)
    ]
    note = "each is what a leader knows of its own game; the follower's role is in none"
    return PlannedRequests(asked[0][0].settings, chosen, cache, requests, called, (note,))


def unnamed(instances: Sequence[Instance]) -> tuple[Instance, ...]:
    """Those of ``instances`` whose intents nobody has named yet."""
    return tuple(instance for instance in instances if not instance.desired)
