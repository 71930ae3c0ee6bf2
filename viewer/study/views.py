"""An item as an annotator sees it: bubbles, responses by letter, and questions with what has been answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apportion.rlhf.compare.blind import LETTERS
from apportion.study.design.answers import TIE, Value
from apportion.study.design.criteria import Criterion, CriterionSet
from apportion.study.design.items import AGENT, Item, Response

MOST_BUTTONS = 11
"""Values of a scale that get a button each; of a finer one the number is typed."""
USER, AI = "User", "AI"
QUOTED = 90
"""Characters of a turn that are told again beside its rating."""


@dataclass(frozen=True)
class SubmittedAnswers:
    """What has been answered so far, by criterion, and what is missing: by criterion, or ``reason``."""

    answers: Mapping[str, Value] = field(default_factory=dict)
    reason: str = ""
    faults: Mapping[str, str] = field(default_factory=dict)


def letters_of(responses: Sequence[Response]) -> dict[str, str]:
    """The letter of each response, by id."""
    return {response.id: letter for letter, response in zip(LETTERS, responses, strict=False)}


def item_view(
    item: Item, responses: Sequence[Response], criteria: CriterionSet, given: SubmittedAnswers
) -> dict[str, Any]:
    """The view of an item whose ``responses`` are in the order in which one annotator sees them."""
    letters = letters_of(responses)
    return {
        "bubbles": _bubbles(item, criteria.asks_turns),
        "responses": tuple((letters[response.id], response.text) for response in responses),
        "same": item.same,
        "alike": tuple(sorted(tuple(sorted(letters[name] for name in group)) for group in item.alike)),
        "questions": tuple(_question(criterion, item, letters, given) for criterion in criteria.criteria),
    }


def turn_numbers(item: Item) -> dict[int, int]:
    """The agent's turns counted from 1, by their position among the messages."""
    return {position: number for number, position in enumerate(item.positions, start=1)}


def _bubbles(item: Item, numbered: bool) -> tuple[dict[str, Any], ...]:
    numbers = turn_numbers(item) if numbered else {}
    return tuple(
        {
            "who": message.speaker or (AI if message.role == AGENT else USER),
            "is_agent": message.role == AGENT,
            "is_known": message.role not in (AGENT, "user"),
            "text": message.text,
            "number": numbers.get(position, 0),
        }
        for position, message in enumerate(item.messages)
    )


def _question(criterion: Criterion, item: Item, letters: Mapping[str, str], given: SubmittedAnswers) -> dict[str, Any]:
    low, high = criterion.scale
    return {
        "name": criterion.name,
        "asks": criterion.question,
        "required": criterion.required,
        "several": criterion.kind == "select",
        "rows": _rows(criterion, item, letters, given.answers.get(criterion.name)),
        "low": low,
        "high": high,
        "anchors": tuple(sorted(criterion.anchors.items())),
        "fault": given.faults.get(criterion.name, ""),
    }


def _rows(
    criterion: Criterion, item: Item, letters: Mapping[str, str], value: Value | None
) -> tuple[dict[str, Any], ...]:
    name = f"c-{criterion.name}"
    if criterion.kind in ("select", "pair"):
        chosen = value if isinstance(value, list) else [value]
        options = [
            {"value": letter, "label": letter, "says": f"Response {letter}", "chosen": id_ in chosen}
            for id_, letter in letters.items()
        ]
        if criterion.kind == "pair":
            options.append({"value": TIE, "label": "Tie", "says": "Tie: neither is better", "chosen": TIE in chosen})
        return ({"field": name, "head": "", "quote": "", "options": tuple(options)},)
    rated = value if isinstance(value, Mapping) else {}
    if criterion.kind == "turns":
        texts = {position: message.text for position, message in enumerate(item.messages)}
        return tuple(
            _rated(criterion, f"{name}-{position}", f"Turn {number}", texts[position], rated.get(str(position)))
            for position, number in turn_numbers(item).items()
        )
    # One response has no letter to be told from others by.
    return tuple(
        _rated(criterion, f"{name}-{letter}", f"Response {letter}" if len(letters) > 1 else "", "", rated.get(id_))
        for id_, letter in letters.items()
    )


def _rated(criterion: Criterion, name: str, head: str, text: str, value: int | None) -> dict[str, Any]:
    quote = text if len(text) <= QUOTED else f"{text[: QUOTED - 1].rstrip()}…"
    if criterion.high - criterion.low >= MOST_BUTTONS:
        return {
            "field": name,
            "head": head,
            "quote": quote,
            "options": (),
            "typed": "" if value is None else str(value),
        }
    return {
        "field": name,
        "head": head,
        "quote": quote,
        "options": tuple(_value(criterion, head, number, value) for number in _scale(criterion)),
    }


def _scale(criterion: Criterion) -> range:
    return range(criterion.low, criterion.high + 1)


def _value(criterion: Criterion, head: str, number: int, value: int | None) -> dict[str, Any]:
    means = criterion.anchors.get(number, "")
    says = ": ".join(part for part in (head, f"{number}") if part) + (f", {means}" if means else "")
    return {"value": str(number), "label": str(number), "says": says, "chosen": number == value}


@dataclass(frozen=True)
class Block:
    """A paragraph (one line, whose own line breaks stay) or a list (a line an entry)."""

    is_list: bool
    lines: tuple[str, ...]


def blocks_of(text: str) -> tuple[Block, ...]:
    """The paragraphs and lists of a text; an empty line ends either.

    >>> blocks_of("Hello.\\n- one\\n- two")
    (Block(is_list=False, lines=('Hello.',)), Block(is_list=True, lines=('one', 'two')))
    """
    found: list[tuple[bool, list[str]]] = []
    ended = True
    for line in text.splitlines():
        words = line.strip()
        is_list = words.startswith("- ")
        if not words:
            ended = True
        elif is_list:
            if ended or not found[-1][0]:
                found.append((True, []))
            found[-1][1].append(words[2:].strip())
            ended = False
        else:
            if ended or found[-1][0]:
                found.append((False, []))
            found[-1][1].append(words)
            ended = False
    return tuple(Block(is_list, tuple(lines if is_list else ["\n".join(lines)])) for is_list, lines in found)
