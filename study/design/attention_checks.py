"""Attention checks: items of which a response, or a turn, says itself what is to be answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apportion.foundation.errors import InputError
from apportion.rlhf.compare.responses import context_text
from apportion.rlhf.policy.contexts import ContextTurn
from apportion.study.design.answers import Value
from apportion.study.design.criteria import Criterion, CriterionSet
from apportion.study.design.items import Item, Response, response_id

_CHECKED = "(attention check)"


@dataclass(frozen=True)
class Check:
    """What an attention check expects: the whole answer to one criterion, or of a number a response those named."""

    item: str
    criterion: str
    expected: Value

    def passed(self, answers: Mapping[str, Any]) -> bool:
        """Whether answers to all criteria of the item (by name) have what is expected.

        >>> Check("c0001", "fair", {"r1": 2}).passed({"fair": {"r1": 2, "r2": 5}})
        True
        """
        given = answers.get(self.criterion)
        if isinstance(self.expected, Mapping):
            return isinstance(given, Mapping) and all(given.get(name) == value for name, value in self.expected.items())
        if isinstance(self.expected, list):
            return isinstance(given, list) and set(given) == set(self.expected)
        return bool(given == self.expected)

    def to_json(self) -> dict[str, Any]:
        """A line of ``checks.jsonl``."""
        return {"item": self.item, "criterion": self.criterion, "expected": self.expected}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Check:
        """The check of a line; whether it can be told is seen where its item is known (`StudyFolder.open`). Raises
        KeyError, TypeError: something is missing, or no text.
        """
        item, criterion = line["item"], line["criterion"]
        if not isinstance(item, str) or not isinstance(criterion, str):
            raise TypeError("item and criterion have to be texts")
        return cls(item, criterion, line["expected"])


def made_checks(items: Sequence[Item], criteria: CriterionSet, seed: int, number: int) -> list[tuple[Item, Check]]:
    """``number`` items like the others, each with words that tell how to answer the first criterion that is required.

    Which item is copied, and which of its responses (or turns) gives way to the words, is drawn by the study's seed.

    Raises InputError: no criterion is required, so that no check can be told from an answer that was left out.
    """
    if not number:
        return []
    criterion = next((one for one in criteria.criteria if one.required), None)
    if criterion is None:
        raise InputError(
            "no criterion is required, so that an attention check cannot be told: anybody could leave it out. Require "
            "one, or ask for no checks."
        )
    ranked = sorted(items, key=lambda item: response_id(seed, item.item, _CHECKED))
    return [_check(f"c{count + 1:04d}", ranked[count % len(ranked)], criterion, seed, count) for count in range(number)]


def _check(name: str, item: Item, criterion: Criterion, seed: int, count: int) -> tuple[Item, Check]:
    if criterion.kind == "turns":
        return _of_a_turn(name, item, criterion, count)
    own = response_id(seed, name, _CHECKED)
    given_way = int(own[1:], 16) % len(item.responses)
    value = _value(criterion, count)
    expected: Value
    match criterion.kind:
        case "select":
            told, expected = "mark this response and no other", [own]
        case "pair":
            told, expected = "choose this response", own
        case _:
            told, expected = f"rate this response with {value}", {own: value}
    words = f"This is a check that every response is read. In the question “{criterion.question}”, {told}."
    texts = [words if place == given_way else response.text for place, response in enumerate(item.responses)]
    ids = [
        own if place == given_way else response_id(seed, name, response.id)
        for place, response in enumerate(item.responses)
    ]
    responses = sorted((Response(*pair) for pair in zip(ids, texts, strict=True)), key=lambda one: one.id)
    return replace(item, item=name, responses=tuple(responses)), Check(name, criterion.name, expected)


def _of_a_turn(name: str, item: Item, criterion: Criterion, count: int) -> tuple[Item, Check]:
    value, place = _value(criterion, count), item.positions[count % len(item.positions)]
    words = f"This is a check that every turn is read. Rate this turn with {value}."
    messages = [
        ContextTurn(message.role, words, message.speaker) if number == place else message
        for number, message in enumerate(item.messages)
    ]
    return replace(item, item=name, context=context_text(messages)), Check(name, criterion.name, {str(place): value})


def _value(criterion: Criterion, count: int) -> int:
    """The ends of the scale in turn: whoever always answers alike fails one of two."""
    return (criterion.low, criterion.high)[count % 2]
