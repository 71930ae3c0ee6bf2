"""One label of one turn, as it is kept: who said it of which words, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from apportion.foundation.errors import InputError
from apportion.foundation.files import digest
from apportion.viewer.labels.question import Question, check_annotator

LabelKey = tuple[str, int, str, str]
"""(session_id, turn, annotator, name): the key of ``turn_labels``."""


@dataclass(frozen=True)
class Label:
    """What an annotator said of a turn.

    - ``said``: `said_digest` of the turn, so that the label is never put beside other words.
    - ``annotator``, ``name``: who, and which question.
    - ``value``: none takes an earlier label back.
    - ``low``, ``high``: the ends of the scale.
    - ``blind``: whether the annotator had not seen the methods' rewards of the session on the label page.
    - ``at``: when, in UTC (ISO 8601).
    """

    session_id: str
    turn: int
    said: str
    annotator: str
    name: str
    value: float | None
    low: float
    high: float
    blind: bool
    at: str

    @property
    def key(self) -> LabelKey:
        """What the label is known by; a later one of the same key takes its place."""
        return (self.session_id, self.turn, self.annotator, self.name)

    @property
    def moment(self) -> datetime:
        """When it was given; before everything else where that is no time."""
        try:
            given = datetime.fromisoformat(self.at)
        except ValueError:
            return datetime.min.replace(tzinfo=UTC)
        return given if given.tzinfo else given.replace(tzinfo=UTC)

    def to_json(self) -> dict[str, Any]:
        """The label as plain JSON values."""
        return asdict(self)


def said_digest(speaker: str, text: str) -> str:
    """16 hexadecimal digits that tell a turn's words from others."""
    return digest([speaker, text])[:16]


def label_of(row: Mapping[str, Any]) -> Label:
    """The label that `Label.to_json` wrote. Raises InputError: a field that is missing or of another type, a value off
    its scale, an annotator who is none.
    """
    texts = [_field(row, name, str) for name in ("session_id", "said", "annotator", "name", "at")]
    low, high = _number(row, "low"), _number(row, "high")
    value = None if row.get("value") is None else _number(row, "value")
    session_id, said, annotator, name, at = texts
    if value is not None and not low <= value <= high:
        raise InputError(f"value {value:g} is outside its scale, {low:g} to {high:g}")
    check_annotator(annotator)
    turn, blind = _field(row, "turn", int), _field(row, "blind", bool)
    return Label(session_id, turn, said, annotator, name, value, low, high, blind, at)


def question_of(row: Mapping[str, Any]) -> Question:
    """The question that `Question.to_json` wrote; raises InputError where it is none."""
    name, asks, low_means, high_means = (_field(row, one, str) for one in ("name", "asks", "low_means", "high_means"))
    low, high, step = (_number(row, one) for one in ("low", "high", "step"))
    return Question(name, asks, low, high, step, low_means, high_means)


def seen_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """Of which session (its id) who has seen the methods' rewards; raises InputError where a row does not tell."""
    return _field(row, "session_id", str), check_annotator(_field(row, "annotator", str))


def _number(row: Mapping[str, Any], name: str) -> float:
    try:
        return float(_field(row, name, float))
    except OverflowError:
        raise InputError(f"field {name}: a whole number that is too large") from None


def _field(row: Mapping[str, Any], name: str, kind: type) -> Any:
    value = row.get(name)
    # In JSON a whole number may stand for a float, and true is a whole number to Python.
    fits = isinstance(value, (int, float) if kind is float else kind) and (kind is bool or not isinstance(value, bool))
    if not fits:
        needed = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}[kind]
        raise InputError(f"field {name}: {needed} is needed, got {value!r:.60}")
    return value
