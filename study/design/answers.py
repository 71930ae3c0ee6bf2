"""What an answer to a criterion is, whether a value is one, and what it says of each response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unicodedata import category

from apportion.foundation.errors import InputError
from apportion.study.design.criteria import Criterion, CriterionSet
from apportion.study.design.items import Item

TIE = "tie"
MOST_REASON = 4_000
"""Characters of a reason in words."""

Value = list[str] | str | dict[str, int]
"""Of ``select`` the marked responses' ids; of ``pair`` an id or `TIE`; of ``rating`` a number by id; of ``turns`` a
number by the position of the turn in the context's messages, written as text."""


def problem_of(criterion: Criterion, item: Item, value: object, *, whole: bool = True) -> str | None:
    """What is wrong with a value as an answer; None where nothing is.

    ``whole``: whether a number is needed for every response or turn.
    """
    ids = [response.id for response in item.responses]
    if criterion.kind == "select":
        if not isinstance(value, list | tuple):
            return f"{value!r:.60} is no list of responses"
        foreign = [one for one in value if one not in ids]
        if foreign:
            return f"{foreign[0]!r:.60} is no response of item {item.item}"
        return "a response is marked twice" if len(set(value)) < len(value) else None
    if criterion.kind == "pair":
        if len(ids) != 2:
            return f"item {item.item} has {len(ids)} responses, and a pair has two"
        return None if value in (*ids, TIE) else f"{value!r:.60} is neither a response of item {item.item} nor {TIE!r}"
    places = ids if criterion.kind == "rating" else [str(place) for place in item.positions]
    return _numbers(criterion, places, value, whole, item.item)


def _numbers(criterion: Criterion, places: list[str], value: object, whole: bool, item: str) -> str | None:
    if not isinstance(value, Mapping):
        return f"{value!r:.60} has no number a {'turn' if criterion.kind == 'turns' else 'response'}"
    rated = {str(place): number for place, number in value.items()}
    for place, number in rated.items():
        if place not in places:
            return (
                f"{place!r:.60} is no {'turn of the agent' if criterion.kind == 'turns' else 'response'} of item {item}"
            )
        if isinstance(number, bool) or not isinstance(number, int) or not criterion.low <= number <= criterion.high:
            return f"{number!r:.60} is no whole number from {criterion.low} to {criterion.high}"
    missing = [place for place in places if place not in rated]
    return f"{missing[0]!r} is not rated" if missing and (whole or not rated) else None


def checked(
    criteria: CriterionSet, item: Item, answers: Mapping[str, Any], reason: str = ""
) -> tuple[dict[str, Value], str]:
    """Answers to all criteria of an item, and the reason, as they are kept.

    A criterion that is not required may be left out. An item whose criterion is a ``select`` has an answer where
    nothing is marked: an empty list.

    Raises InputError: a criterion that there is not, an answer that is none, one that is missing; a reason that is
    missing, too short or too long. All of them are told, a line each.
    """
    problems = [f"{name!r:.60}: no such criterion" for name in answers if name not in criteria.by_name]
    kept: dict[str, Value] = {}
    for name, criterion in criteria.by_name.items():
        value = answers.get(name)
        if value is None:
            problems += [f"{name}: not answered"] if criterion.required else []
        elif problem := problem_of(criterion, item, value):
            problems.append(f"{name}: {problem}")
        else:
            kept[name] = _plain(value)
    words = _readable(reason)
    if problem := reason_problem(criteria, words):
        problems.append(f"reason: {problem}")
    if problems:
        raise InputError("\n".join(problems))
    return kept, words


def _readable(reason: str) -> str:
    """A reason without what no database and no page keeps alike: control characters but line breaks and tabs, and
    halves of characters."""
    return "".join(mark for mark in reason if mark in "\n\t" or category(mark) not in ("Cc", "Cs")).strip()


def _plain(value: Any) -> Value:
    if isinstance(value, Mapping):
        return {str(place): int(number) for place, number in value.items()}
    return value if isinstance(value, str) else sorted(value)


def reason_problem(criteria: CriterionSet, words: str) -> str | None:
    """What is wrong with a reason in words; None where nothing is."""
    if len(words) > MOST_REASON:
        return f"{len(words):,} characters; at most {MOST_REASON:,} are kept"
    asked = criteria.reason
    if asked is None:
        return "no reason is asked for" if words else None
    if not words:
        return "not answered" if asked.required else None
    return f"{len(words)} characters; at least {asked.least} are needed" if len(words) < asked.least else None


def values_of(criterion: Criterion, item: Item, value: Value) -> dict[str, float]:
    """What an answer says of each response, by id (of ``turns`` of each turn, by position).

    ``select`` gives 1 where a response is marked, else 0, and the other way round where it is reversed; ``pair`` 1 and
    0, or 0.5 each for a tie; numbers stay, or are mirrored on their scale where they are reversed.

    >>> from apportion.study.design.items import Response
    >>> item = Item("i0001", "s1", 3, "user: hi", (Response("r1", "Hello."), Response("r2", "No.")))
    >>> values_of(Criterion(name="odd", question="Which is odd?", kind="select", reversed=True), item, ["r2"])
    {'r1': 1.0, 'r2': 0.0}
    """
    low, high = criterion.scale
    if isinstance(value, Mapping):
        found = {place: float(number) for place, number in value.items()}
    elif criterion.kind == "pair":
        return {one.id: 0.5 if value == TIE else float(one.id == value) for one in item.responses}
    else:
        found = {one.id: float(one.id in value) for one in item.responses}
    return {place: low + high - number for place, number in found.items()} if criterion.reversed else found


def value_from(criterion: Criterion, item: Item, values: Mapping[str, float]) -> Value:
    """The answer of which `values_of` says ``values``: the way back from a table. Raises InputError: no answer to the
    criterion says that: a response without a value where every one has to have one, a number between two values, a pair
    that nobody and both win.

    >>> from apportion.study.design.items import Response
    >>> item = Item("i0001", "s1", 3, "user: hi", (Response("r1", "Hello."), Response("r2", "No.")))
    >>> value_from(Criterion(name="odd", question="Which is odd?", kind="select"), item, {"r1": 0.0, "r2": 1.0})
    ['r2']
    """
    low, high = criterion.scale
    given = {place: low + high - number for place, number in values.items()} if criterion.reversed else dict(values)
    if criterion.kind in ("rating", "turns"):
        uneven = next((number for number in given.values() if number != int(number)), None)
        if uneven is not None:
            raise InputError(f"{uneven:g} is no whole number")
        return {place: int(number) for place, number in given.items()}
    missing = next((response.id for response in item.responses if response.id not in given), None)
    if missing is not None:
        raise InputError(f"response {missing!r} of item {item.item} has no value")
    if criterion.kind == "pair" and sorted(given.values()) == [0.5, 0.5]:
        return TIE
    marked = sorted(place for place, number in given.items() if number == 1)
    if any(number not in (0, 1) for number in given.values()) or (criterion.kind == "pair" and len(marked) != 1):
        told = ", ".join(f"{number:g}" for number in given.values())
        raise InputError(f"{told} are no values of a {criterion.kind}")
    return marked[0] if criterion.kind == "pair" else marked
