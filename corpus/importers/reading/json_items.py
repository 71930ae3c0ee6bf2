"""The objects of a JSON Lines file or a JSON array, each by itself: one that is broken costs no other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.corpus.files.jsontext import kind_of
from apportion.corpus.files.textfile import BrokenLine, parse_json, parse_lines, read_text
from apportion.foundation.errors import UnitError
from apportion.foundation.truncate import shortened

SHAPE_ERRORS = (KeyError, TypeError, ValueError, AttributeError, UnitError)
"""What reading an object runs into that is not of the shape that is expected."""


@dataclass(frozen=True)
class Item:
    """One object and its place in the file; ``found`` is empty where it is broken, and ``fault`` says how."""

    place: str
    found: dict[str, Any]
    fault: str = ""

    def value(self) -> dict[str, Any]:
        """The object.

        Raises
        ------
        UnitError
            It is broken.
        """
        if self.fault:
            raise UnitError(self.fault)
        return self.found


def json_items(path: Path) -> list[Item]:
    """Every line or item of a file, plain or gzip; blank lines are passed over.

    Raises
    ------
    InputError
        A file that cannot be read, is not UTF-8, or a JSON array that is not JSON (file, line and column).
    """
    text = read_text(path)
    if text.lstrip().startswith("["):
        return [_item(f"item {number}", value) for number, value in enumerate(parse_json(text, path), start=1)]
    return [_item(f"line {line}", value) for line, value in parse_lines(text)]


def _item(place: str, value: Any) -> Item:
    if isinstance(value, dict):
        return Item(place, value)
    message = value.message if isinstance(value, BrokenLine) else f"an object is needed, got {kind_of(value)}."
    return Item(place, {}, message)


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
