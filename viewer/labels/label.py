"""One label of one turn, as it is kept: who said it of which words, and when."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from apportion.corpus.annotators import is_badly_computed, is_computed
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest
from apportion.foundation.truncate import listed

MOST_NAME, MOST_TEXT = 80, 300
"""Characters of a name, and of what is asked."""
MOST_STEPS = 1000
MOST_BUTTONS = 11
"""Answers that are offered one by one; on a finer scale a number is typed."""
ASKED = "How did this turn land?"
# Control characters, spaces without width, half surrogate pairs, and what turns the direction of the text around it.
_UNREADABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)

_NUMBER = r"-?[0-9]{1,9}(?:\.[0-9]{1,6})?"
_SCALE = re.compile(f"(?P<low>{_NUMBER}) to (?P<high>{_NUMBER})(?: by (?P<step>{_NUMBER}))?")


@dataclass(frozen=True)
class Question:
    """One kind of label: the name that ``turn_labels`` knows it by, what is asked, the scale; larger is better.

    ``low``, ``high``: the ends of the scale. ``step``: between two answers that follow each other. ``low_means``,
    ``high_means``: what the ends mean, in words; may be empty. Raises InputError: a name or text that is empty, too
    long or unreadable; a scale that cannot be.

    >>> Question("landing", "How did this turn land?", 1.0, 3.0).answers
    (1.0, 2.0, 3.0)
    """

    name: str
    asks: str
    low: float
    high: float
    step: float = 1.0
    low_means: str = ""
    high_means: str = ""

    def __post_init__(self) -> None:
        check_name(self.name, "the label's name")
        check_text(self.asks, "the question", MOST_TEXT)
        for text in filter(None, (self.low_means, self.high_means)):
            check_text(text, "what an end of the scale means", MOST_NAME)
        if not all(math.isfinite(value) for value in (self.low, self.high, self.step)):
            raise InputError(f"the scale of {self.name!r}: its ends and its step have to be numbers.")
        if self.low >= self.high:
            raise InputError(f"the scale of {self.name!r}: low {self.low:g} has to be below high {self.high:g}.")
        steps = (self.high - self.low) / self.step if self.step > 0 else 0.0
        if not 1 - 1e-9 <= steps <= MOST_STEPS or abs(steps - round(steps)) > 1e-6:
            raise InputError(
                f"the scale of {self.name!r}: from {self.low:g} to {self.high:g} by steps of {self.step:g} are not 1 "
                f"to {MOST_STEPS:,} whole steps. Choose a step that divides it."
            )

    @property
    def answers(self) -> tuple[float, ...]:
        """Every value of the scale, from low to high."""
        steps = round((self.high - self.low) / self.step)
        inner = (self.low + (self.high - self.low) * i / steps for i in range(1, steps))
        return (self.low, *inner, self.high)

    @property
    def is_thumbs(self) -> bool:
        """Whether there are two answers, down and up."""
        return len(self.answers) == 2

    def checked(self, value: float) -> float:
        """The answer of the scale that ``value`` is. Raises InputError: it is none."""
        nearest = min(self.answers, key=lambda answer: abs(answer - value)) if math.isfinite(value) else math.nan
        if not abs(nearest - value) <= 1e-9 * max(1.0, abs(self.low), abs(self.high)):
            raise InputError(
                f"{value:g} is no answer to {self.name!r}: allowed is {self.low:g} to {self.high:g} by steps of "
                f"{self.step:g}."
            )
        return nearest

    def to_json(self) -> dict[str, Any]:
        """The question as plain JSON values."""
        return asdict(self)


def question_on(scale: str, name: str = "", asks: str = "") -> Question:
    """The question on a scale that is written as ``thumbs``, ``LOW to HIGH`` or ``LOW to HIGH by STEP``.

    ``name`` and ``asks`` go before those that come with the scale.

    Raises InputError: another text, or a scale that cannot be.

    >>> question_on("0 to 1 by 0.5", "tone").answers
    (0.0, 0.5, 1.0)
    """
    if scale == "thumbs":
        return replace(THUMBS, name=name or THUMBS.name, asks=asks or THUMBS.asks)
    match = _SCALE.fullmatch(scale)
    if match is None:
        raise InputError(f"the scale {scale!r:.80} is neither thumbs nor of the form '1 to 5' or '0 to 1 by 0.5'.")
    low, high, step = float(match["low"]), float(match["high"]), float(match["step"] or 1)
    return Question(name or "landing", asks or ASKED, low, high, step, "badly", "well")


def chosen_question(
    there: Mapping[str, Question], name: str = "", asks: str = "", scale: str | None = None
) -> Question:
    """The question called ``name`` of those that are ``there``, the only one where none is named; else a new one.
    Raises InputError: none is named and there are several; a scale is missing, or cannot be.
    """
    if not name and not scale and len(there) == 1:
        return next(iter(there.values()))
    if scale is None:
        if name in there:
            return there[name]
        asked = f"; there are labels called {listed(sorted(there))}" if there else ""
        raise InputError(
            f"no scale is given, and nothing called {name or 'so'!r} was asked before{asked}. Give a scale."
        )
    return question_on(scale, name, asks)


def check_name(name: str, called: str) -> str:
    """A name that a table's column and a page can hold; raises InputError where it is none."""
    return check_text(name, called, MOST_NAME)


def check_annotator(name: str) -> str:
    """The name of one who labels; raises InputError where it would pass for a computation's."""
    check_name(name, "the annotator's name")
    if is_computed(name) or is_badly_computed(name):
        raise InputError(
            f"the annotator's name {name!r}: what begins so is a label that was computed. Give a person's name."
        )
    return name


def check_text(text: str, called: str, most: int) -> str:
    """A short text that somebody typed, as it is; raises InputError where it is empty, too long or unreadable."""
    if not text.strip():
        raise InputError(f"{called} is missing: 1 to {most} characters.")
    if len(text) > most:
        raise InputError(f"{called} has {len(text):,} characters: at most {most} are allowed.")
    found = _UNREADABLE.search(text)
    if found is not None or text != text.strip():
        wrong = "a space at an end" if found is None else f"U+{ord(found[0]):04X}"
        raise InputError(f"{called} holds {wrong}, which nobody sees: leave it out.")
    return text


THUMBS = Question("thumbs", ASKED, 0.0, 1.0, 1.0, "badly", "well")
SCALES = ("thumbs", "1 to 5", "1 to 7", "-2 to 2", "0 to 100")
"""Scales that are offered by name."""


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
