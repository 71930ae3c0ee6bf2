"""The objects of a JSON Lines file or a JSON array, each by itself: one that is broken costs no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.corpus import account
from apportion.corpus.files.jsontext import kind_of
from apportion.corpus.files.textfile import BrokenLine, parse_json, parse_lines, read_text
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import shortened

EXAMPLES = 3


class SkipCounter:
    """Counts by what happened, with the sessions it happened in; lines come in the order of the first happening."""

    def __init__(self) -> None:
        self._happened: dict[str, dict[str, tuple[int | None, str | None]]] = {}

    def add(self, what: str, session_id: str, many: int | None = None, detail: str | None = None) -> None:
        """``what`` happened in the session ``session_id``, ``many`` times (None: no number to tell; 0: not at all)."""
        if many != 0:
            self._happened.setdefault(what, {})[session_id] = (many, detail)

    def take(self, other: SkipCounter) -> None:
        """Add what ``other`` has counted."""
        for what, sessions in other._happened.items():
            self._happened.setdefault(what, {}).update(sessions)

    def notes(self) -> tuple[str, ...]:
        """``what: 12 in 4 sessions (a, b, c, …)``, or ``what: 4 sessions (…)`` where there is no number."""
        return tuple(_line(what, sessions) for what, sessions in self._happened.items())


def _line(what: str, sessions: dict[str, tuple[int | None, str | None]]) -> str:
    total = sum(many or 0 for many, _ in sessions.values())
    shown = [f"{id_}: {detail}" if detail else id_ for id_, (_, detail) in list(sessions.items())[:EXAMPLES]]
    examples = "; ".join(shown) + "; …" * (len(sessions) > EXAMPLES)
    counted = f"{total:,} in " if total else ""
    return f"{what}: {counted}{len(sessions):,} session{'s' * (len(sessions) != 1)} ({examples})"


SHAPE_ERRORS = (KeyError, TypeError, ValueError, AttributeError, UnitError)
"""What reading an object runs into that is not of the shape that is expected."""


@dataclass(frozen=True)
class Item:
    """One object and its place in the file; ``fault`` says how it is broken, and ``found`` what can be read even so.

    ``holds``: how much of what the account has read is in it, where it is made of several rows; ``unsure``: the columns
    of a table whose figures may be read in two ways.
    """

    place: str
    found: dict[str, Any]
    fault: str = ""
    holds: Mapping[str, int] | None = None
    unsure: frozenset[str] = frozenset()

    def value(self) -> dict[str, Any]:
        """The object. Raises ``UnitError``: it is broken."""
        if self.fault:
            raise UnitError(self.fault)
        return self.found


def json_items(path: Path, what: str | None, key: str = "", otherwise: str = "") -> list[Item]:
    """Every line or item of a file, plain or gzip; blank lines are passed over. ``what`` the account calls them; None:
    whoever calls counts them, once it is clear what they are. ``key``: what an object of the format has.

    Raises ``InputError``: a file that cannot be read, is not UTF-8, or a JSON array that is not JSON (file, line and
    column); no object has the ``key`` (``otherwise`` says which format it is not, and what to do).
    """
    text = read_text(path)
    is_array = text.lstrip().startswith("[")
    values = enumerate(parse_json(text, path), start=1) if is_array else parse_lines(text)
    items = [_item(f"{'item' if is_array else 'line'} {number}", value) for number, value in values]
    if what is not None:
        account.current().read(what, len(items))
    if key and not any(key in item.found for item in items):
        raise InputError(f"{path}: no object has {key!r}: {otherwise}{first_fault(items)}")
    return items


def _item(place: str, value: Any) -> Item:
    if isinstance(value, dict):
        return Item(place, value)
    message = value.message if isinstance(value, BrokenLine) else f"an object is needed, got {kind_of(value)}."
    return Item(place, {}, message)


def texts_in(entries: Any, *keys: str) -> list[str]:
    """The texts of a list's objects, each under the first of ``keys`` that it has: what is there, whatever the shape.

    For the account, which counts before anything is checked.
    """
    objects = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    found = [next((entry[key] for key in keys if key in entry), None) for entry in objects]
    return [text for text in found if isinstance(text, str)]


def first_fault(items: list[Item]) -> str:
    """Where the first broken one is and why, for the error of a file in which nothing can be used; else nothing."""
    return next((f" {item.place}: {item.fault}" for item in items if item.fault), "")


def not_in_shape(of: str, error: Exception) -> UnitError:
    """The error of an object that is not in the shape ``of`` a format."""
    if isinstance(error, UnitError):
        cause = str(error).rstrip(".")
    elif isinstance(error, KeyError):
        cause = f"it has no {shortened(str(error))}"
    else:
        cause = f"{type(error).__name__}: {shortened(str(error))}"
    return UnitError(f"not in {of}'s shape ({cause}). Compare with its README.")
