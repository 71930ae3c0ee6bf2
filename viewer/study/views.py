"""An item as an annotator sees it: bubbles, responses by letter, and questions with what has been answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apportion.rlhf.compare.blind import LETTERS
from apportion.study.design.answers import TIE, Value, problem_of, reason_problem
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
        "options": tuple(_option(criterion, head, number, value) for number in _scale(criterion)),
    }


def _scale(criterion: Criterion) -> range:
    return range(criterion.low, criterion.high + 1)


def _option(criterion: Criterion, head: str, number: int, value: int | None) -> dict[str, Any]:
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


MOST_FIELDS = 8_000
"""Fields of a form: 50 criteria of 101 turns or responses, and what else a form sends."""
MOST_SECONDS = 86_400.0
MOST_LOST = 100_000
UNREADABLE = "This answer cannot be read. Please choose again."


@dataclass(frozen=True)
class AnswerForm:
    """A form that was sent: each name with its values, in their order."""

    values: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]]) -> AnswerForm:
        """The form of a body's fields."""
        values: dict[str, list[str]] = {}
        for name, value in pairs:
            values.setdefault(name, []).append(value)
        return cls(values)

    def one(self, name: str) -> str:
        """The value of a field that comes once; empty where it does not."""
        found = self.values.get(name, ())
        return found[0] if len(found) == 1 else ""

    def number(self, name: str, most: float) -> float | None:
        """A number from 0 to ``most``, larger ones cut; None where there is none, as without scripts."""
        text = self.one(name)
        try:
            value = float(text) if len(text) <= 20 else -1.0
        except ValueError:
            return None
        return min(value, most) if value >= 0 else None


def given_in(form: AnswerForm, item: Item, responses: Sequence[Response], criteria: CriterionSet) -> SubmittedAnswers:
    """The answers in a form, and what is missing or wrong in them."""
    ids = {letter: id_ for id_, letter in letters_of(responses).items()}
    answers: dict[str, Value] = {}
    faults: dict[str, str] = {}
    for criterion in criteria.criteria:
        try:
            value = _value(form, criterion, item, ids)
        except ValueError:
            faults[criterion.name] = UNREADABLE
            continue
        if value:  # What is no answer of its own: an unmarked select is one.
            answers[criterion.name] = value
        elif criterion.kind == "select":
            answers[criterion.name] = []
        fault = _fault(criterion, item, responses, answers.get(criterion.name))
        if fault:
            faults[criterion.name] = fault
    reason = form.one("reason").replace("\r\n", "\n").strip()
    return SubmittedAnswers(answers, reason, faults | _reason_fault(criteria, reason))


def as_fields(
    responses: Sequence[Response], criteria: CriterionSet, answers: Mapping[str, Value]
) -> list[tuple[str, str]]:
    """The fields that a page sends for answers; `given_in` reads them again."""
    letters = letters_of(responses)
    fields: list[tuple[str, str]] = []
    for criterion in criteria.criteria:
        name, value = f"c-{criterion.name}", answers.get(criterion.name)
        if isinstance(value, str):
            fields.append((name, letters.get(value, value)))
        elif isinstance(value, list):
            fields += [(name, letters[id_]) for id_ in value]
        elif isinstance(value, Mapping):
            fields += [(f"{name}-{letters.get(place, place)}", str(number)) for place, number in value.items()]
    return fields


def _value(form: AnswerForm, criterion: Criterion, item: Item, ids: Mapping[str, str]) -> Value | None:
    """What the form says to a criterion; ValueError where that is nothing that its page offers."""
    name = f"c-{criterion.name}"
    if criterion.kind == "select":
        return [_known(ids, letter) for letter in form.values.get(name, ())]
    if criterion.kind == "pair":
        answer = form.one(name)
        return answer if answer in ("", TIE) else _known(ids, answer)
    if criterion.kind == "turns":
        fields = {str(position): f"{name}-{position}" for position in item.positions}
    else:
        fields = {id_: f"{name}-{letter}" for letter, id_ in ids.items()}
    typed = {place: form.one(of) for place, of in fields.items()}
    return {place: int(text) for place, text in typed.items() if text.strip() and _short(text)}


def _known(ids: Mapping[str, str], letter: str) -> str:
    if letter not in ids:
        raise ValueError(letter)
    return ids[letter]


def _short(text: str) -> bool:
    if len(text) > 6:
        raise ValueError(text)
    return True


def _fault(criterion: Criterion, item: Item, responses: Sequence[Response], value: Value | None) -> str:
    if value is None:
        return "Please answer this question." if criterion.required else ""
    if not problem_of(criterion, item, value):
        return ""
    if isinstance(value, Mapping) and not problem_of(criterion, item, value, whole=False):
        left = _left(criterion, item, responses, value)
        return f"Still missing: {', '.join(left)}."
    return UNREADABLE


def _left(criterion: Criterion, item: Item, responses: Sequence[Response], value: Mapping[str, int]) -> list[str]:
    if criterion.kind == "turns":
        return [f"turn {number}" for position, number in turn_numbers(item).items() if str(position) not in value]
    return [letter for id_, letter in letters_of(responses).items() if id_ not in value]


def _reason_fault(criteria: CriterionSet, reason: str) -> dict[str, str]:
    problem = reason_problem(criteria, reason)
    if problem is None:
        return {}
    return {"reason": "Please write a few words here." if not reason else f"This cannot be kept: {problem}."}
