"""Reading a model's reply: every asked turn once, each with a finite number or null, or a mistake to be named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apportion.foundation.safe_text import whole_text
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, short_json, strict_json

REPLY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "turns": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "turn": {"type": "integer"},
                    "value": {"type": ["number", "null"]},
                    "evidence": {"type": ["string", "null"]},
                },
                "required": ["turn", "value", "evidence"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["turns"],
    "additionalProperties": False,
}
"""What servers with structured output hold the model to."""

LARGEST = 1e6
"""Values beyond this are a mistake on any scale, and would cost the sums their exactness."""

_WHOLE = re.compile("0|[1-9][0-9]{0,8}")
_LAST_TURN = 10**9

TOKENS_A_TURN, TOKENS_A_REPLY = 40, 10
"""About what a turn's number, value and one line of evidence take as JSON, and what stands around them."""


@dataclass(frozen=True)
class TurnAnswer:
    """What the model said of one turn; ``value`` is None for null."""

    turn: int
    value: float | None
    evidence: str | None


def parse_reply(
    text: str,
    turns: Sequence[int],
    low: float | None = None,
    high: float | None = None,
    whole: bool = False,
    null_allowed: bool = True,
) -> list[TurnAnswer]:
    """The answers to ``turns`` (T), in that order.

    Text is taken as it stands, but for a model's reasoning before it and one code fence around it; nothing is searched
    for in prose, and nothing that is missing is made up. ``whole`` asks for whole numbers, and so without null.

    Raises ReplyMistakeError: Not JSON, not of the schema's form, a turn missing, twice or not asked for, a value that
    is no finite number or outside ``low`` to ``high``, null where that is not allowed.
    """
    if not text.strip():
        raise ReplyMistakeError("the reply is empty")
    answers = [_answer(entry) for entry in _entries(text)]
    _check_turns([answer.turn for answer in answers], turns)
    for answer in answers:
        _check_value(answer, low, high)
        if whole and (answer.value is None or not answer.value.is_integer()):
            given = "null" if answer.value is None else f"{answer.value:g}"
            raise ReplyMistakeError(f"the value {given} of turn {answer.turn} is no whole number")
        if answer.value is None and not null_allowed:
            raise ReplyMistakeError(f"the value of turn {answer.turn} is null; every turn needs a number")
    by_turn = {answer.turn: answer for answer in answers}
    return [by_turn[turn] for turn in turns]


def _entries(text: str) -> list[Any]:
    document = strict_json(text)
    if not isinstance(document, dict) or not isinstance(document.get("turns"), list):
        raise ReplyMistakeError('the reply is not an object of the form {"turns": [...]}')
    entries: list[Any] = document["turns"]
    return entries


def _answer(entry: Any) -> TurnAnswer:
    if not isinstance(entry, dict) or not {"turn", "value"} <= entry.keys():
        raise ReplyMistakeError(f'every entry needs "turn" and "value"; this one does not: {short_json(entry)}')
    turn, value, evidence = _turn(entry["turn"]), entry["value"], entry.get("evidence")
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise ReplyMistakeError(f'the "value" of turn {turn} must be a number or null, not {short_json(value)}')
    if evidence is not None and not isinstance(evidence, str):
        raise ReplyMistakeError(f'the "evidence" of turn {turn} must be a string or null, not {short_json(evidence)}')
    # JSON's escapes can spell half a surrogate pair, which no table can hold.
    return TurnAnswer(turn, None if value is None else _finite(value, turn), whole_text(evidence) if evidence else None)


def _turn(value: Any) -> int:
    """A turn's number; models without structured output write it as "3" or 3.0 too, which leaves nothing to guess."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value // 1:
        raise ReplyMistakeError(f'"turn" must be an integer, not {short_json(value)}')
    if abs(value) > _LAST_TURN:
        raise ReplyMistakeError(f"no turn has the number {short_json(value)}")
    return int(value)


def _finite(value: int | float, turn: int) -> float:
    # Compared before it becomes a float: an integer of 400 digits is none.
    if not abs(value) <= LARGEST:
        raise ReplyMistakeError(f"the value of turn {turn} is too large to be used")
    return float(value)


def _check_turns(given: Sequence[int], asked: Sequence[int]) -> None:
    problems = []
    missing = [turn for turn in asked if turn not in set(given)]
    extra = sorted(set(given) - set(asked))
    twice = sorted(turn for turn, count in Counter(given).items() if count > 1)
    for what, turns in (("missing", missing), ("not asked for", extra), ("given more than once", twice)):
        if turns:
            problems.append(f"{what}: {', '.join(map(str, turns[:20]))}{' …' if len(turns) > 20 else ''}")
    if problems:
        raise ReplyMistakeError(f"turns {'; turns '.join(problems)}")


def _check_value(answer: TurnAnswer, low: float | None, high: float | None) -> None:
    if answer.value is None:
        return
    if (low is not None and answer.value < low) or (high is not None and answer.value > high):
        raise ReplyMistakeError(
            f"the value {answer.value:g} of turn {answer.turn} is outside the scale {low:g} to {high:g}"
        )
