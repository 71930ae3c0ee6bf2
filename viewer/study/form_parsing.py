"""A form's fields as answers: letters back to responses, and what is missing said as a person would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apportion.study.design.answers import TIE, Value, problem_of, reason_problem
from apportion.study.design.criteria import Criterion, CriterionSet
from apportion.study.design.items import Item, Response
from apportion.viewer.study.views import SubmittedAnswers, letters_of, turn_numbers

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
