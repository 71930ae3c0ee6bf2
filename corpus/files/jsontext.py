"""JSON that other people wrote, as values that every reader can take, and what becomes of them.

Python reads more than it can work with: an integer of 400 digits fits no float, one of 5,000 is an error of its own
kind, half a surrogate pair can be neither written nor shown, and a value nested a thousand deep ends whatever walks it.
All of that is settled here, once, so that no reader meets it.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import reprlib
from typing import Any, TypeGuard

from apportion.foundation.errors import UnitError
from apportion.foundation.safe_text import IN_TABLES, whole_text

MOST_DIGITS = 300
"""An integer of more is read as infinite, which every reader of numbers refuses: a float ends at 308 digits."""
MOST_DEPTH = 100
"""How deep objects and lists may lie in each other."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(r"\\(?:[^u]|u[dD][89abAB]..\\u[dD][c-fC-F]|(u[dD][89a-fA-F]))", re.DOTALL)
"""Escapes in a JSON text, two halves of a character as one; the group is filled by a half that is alone."""


class JsonError(ValueError):
    """A text that is not JSON, or holds what nobody can read; ``line`` and ``column`` count from 1, 0 where unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column

    @property
    def reason(self) -> str:
        """What is wrong, with the column where one is known."""
        return f"{self} at column {self.column}" if self.column else str(self)


def parse(text: str, *, mend: bool = True) -> Any:
    """The value of a JSON text: integers fit a float, texts are Unicode, nothing is deeper than ``MOST_DEPTH``.

    ``text``: The text. ``mend``: Whether half a surrogate pair becomes a question mark; else it stays, and no file can
    hold it. Raises JsonError: Not JSON, nested too deeply, or a key twice.

    >>> parse('{"score": 4}'), parse("9" * 5000)
    ({'score': 4}, inf)
    """
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonError(error.msg, error.lineno, error.colno) from None
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None
    if text.count("[") + text.count("{") > MOST_DEPTH:  # Else it cannot be deeper.
        _check_depth(value)
    if mend and _SURROGATE.search(text) and any(escape[1] for escape in _ESCAPES.finditer(text)):
        return _whole_characters(value)
    return value


def number(value: Any, place: str, *, texts: bool = False) -> float:
    """A JSON value as a finite number.

    ``value``: What `parse` gave. ``place``: Where it stands, for the error. ``texts``: Whether the text of a number is
    one. Raises UnitError: It is none.

    >>> number(4, "score"), number("4.5", "score", texts=True)
    (4.0, 4.5)
    """
    found = math.nan
    if is_number(value) or (texts and isinstance(value, str)):
        with contextlib.suppress(ValueError):
            found = float(value)
    if not math.isfinite(found):
        raise UnitError(f"{place} = {shown(value)}: a finite number is needed.")
    return found


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a JSON value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def identifier(value: Any, place: str) -> str:
    """A JSON value as an id: a text with something in it, or a whole number.

    Raises UnitError: It is neither.

    >>> identifier(7, "id"), identifier("c7", "id")
    ('7', 'c7')
    """
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise UnitError(f"{place} = {shown(value)}: a text or a whole number is needed.")


def shown(value: Any) -> str:
    """A JSON value for a message: as Python writes it, cut where it is long or deep."""
    return _SHORT.repr(value)


def kind_of(value: Any) -> str:
    """What a JSON value is, in a word or two."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true/false", type(None): "null"}
    return names.get(type(value), "a number")


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= MOST_DIGITS else math.copysign(math.inf, -1 if digits[0] == "-" else 1)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object; a key that stands there twice with two values says nothing."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next((key for key, value in pairs if found[key] != value), None)
        if twice is not None:
            raise JsonError(f"the key {shown(twice)} is there twice, with different values")
    return found


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MOST_DEPTH):
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [item for items in inner for item in items if isinstance(item, dict | list)]
        if not level:
            return
    raise JsonError(_TOO_DEEP)


def _whole_characters(value: Any) -> Any:
    if isinstance(value, str):
        return whole_text(value, IN_TABLES)
    if isinstance(value, list):
        return [_whole_characters(item) for item in value]
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(item) for key, item in value.items()}
    return value


_TOO_DEEP = f"nested too deeply to read, more than {MOST_DEPTH} levels"
_DECODER = json.JSONDecoder(parse_int=_integer, object_pairs_hook=_object)
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60
_SHORT.maxlevel = 2
