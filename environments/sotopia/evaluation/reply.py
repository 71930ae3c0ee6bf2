"""What a judging model answers: for each person reasoning and a whole number in each of the seven dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.sotopia.evaluation.scores import DIMENSIONS, DimensionScore, off_range
from apportion.foundation.text_checks import whole_text
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, check_finished, short_json, strict_json
from apportion.llm_client.request import ChatReply

TOKENS_A_PERSON = 7 * 80
"""About what seven scores, each with a few sentences, take as JSON."""
LONGEST_REASONING = 4_000
_MOST_TOLD = 3


def reply_schema(labels: Sequence[str]) -> dict[str, Any]:
    """The form of a reply about the persons of these labels, as a JSON schema."""
    dimensions = {dimension: _object(_dimension(dimension)) for dimension in DIMENSIONS}
    return _object({label: _object(dimensions) for label in labels})


def _dimension(name: str) -> dict[str, Any]:
    low, high = RANGES[name]
    # Every number there is: servers that hold a model to a schema know this, and not all know bounds.
    return {"reasoning": {"type": "string"}, "score": {"type": "integer", "enum": [*range(int(low), int(high) + 1)]}}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    required = list(properties)
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


@dataclass
class Answer:
    """What could be used of a reply: by label and dimension; ``mistakes`` says what is wrong with the rest."""

    given: dict[str, dict[str, DimensionScore]] = field(default_factory=dict)
    mistakes: list[str] = field(default_factory=list)

    @property
    def mistake(self) -> str:
        """The first mistakes, and how many more there are."""
        more = len(self.mistakes) - _MOST_TOLD
        return "; ".join(self.mistakes[:_MOST_TOLD]) + (f"; and {more} more" if more > 0 else "")


def read_answer(reply: ChatReply, labels: Sequence[str]) -> Answer:
    """Everything that a reply says of the persons of these labels, whole or not.

    Raises
    ------
    ReplyMistakeError
        It is cut off, declined, or no JSON object.
    """
    check_finished(reply, "give shorter reasoning")
    document = strict_json(reply.text)
    if not isinstance(document, dict):
        raise ReplyMistakeError(f"the reply is not an object with {', '.join(labels)}")
    answer = Answer()
    for label in labels:
        answer.given[label] = _person(document.get(label), label, answer.mistakes)
    answer.mistakes += [f"{short_json(label)} was not asked about" for label in document if label not in labels]
    return answer


def read_whole(reply: ChatReply, labels: Sequence[str]) -> Answer:
    """`read_answer` of a reply without a mistake.

    Raises
    ------
    ReplyMistakeError
        There is one; the text says which.
    """
    answer = read_answer(reply, labels)
    if answer.mistakes:
        raise ReplyMistakeError(answer.mistake)
    return answer


def _person(scores: Any, label: str, mistakes: list[str]) -> dict[str, DimensionScore]:
    if not isinstance(scores, dict):
        mistakes.append(f"{label} has no scores; give all of {', '.join(DIMENSIONS)}")
        return dict.fromkeys(DIMENSIONS, DimensionScore(None, cause=f"the reply has no scores of {label}"))
    mistakes += [f"{label}: there is no dimension {short_json(name)}" for name in scores if name not in DIMENSIONS]
    given = {}
    for dimension in DIMENSIONS:
        given[dimension] = _given(scores.get(dimension), dimension)
        if given[dimension].cause is not None:
            mistakes.append(f"{label}, {given[dimension].cause}")
    return given


def _given(value: Any, dimension: str) -> DimensionScore:
    if not isinstance(value, dict) or not {"reasoning", "score"} <= value.keys():
        return DimensionScore(None, cause=f'{dimension} is not an object with "reasoning" and "score"')
    reasoning, score = value["reasoning"], value["score"]
    if not isinstance(reasoning, str) or not reasoning.strip():
        return DimensionScore(None, cause=f"{dimension} has no reasoning")
    words = whole_text(reasoning.strip()[:LONGEST_REASONING])
    problem = off_range(dimension, score)
    if problem is not None:
        return DimensionScore(None, words, f"{dimension} has the score {short_json(score)}; {problem}")
    return DimensionScore(int(score), words)
