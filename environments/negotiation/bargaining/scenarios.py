"""Bargains in a file, JSON Lines: what is sold, its list price, the buyer's budget and the seller's cost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from apportion.environments.negotiation.bargaining.scenario import Bargain
from apportion.foundation.errors import InputError
from apportion.foundation.files import check_path

FIELDS = tuple(field.name for field in fields(Bargain))


def read_bargains(path: Path) -> tuple[Bargain, ...]:
    """The bargains of a file, in its order; fields beside ``thing``, ``list_price``, ``budget``, ``cost`` are not read.

    Raises
    ------
    InputError
        The file cannot be read, is empty, or a line is no bargain; named by its number.
    """
    check_path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not to be read as bargains ({error})") from None
    found = tuple(_bargain(path, number, line) for number, line in enumerate(lines, 1) if line.strip())
    if not found:
        raise InputError(f"{path}: holds no bargain; a line is {json.dumps(dict.fromkeys(FIELDS, '…'))}")
    return found


def as_lines(bargains: Iterable[Bargain]) -> str:
    """The same file's text."""
    return "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in bargains)


def _bargain(path: Path, number: int, line: str) -> Bargain:
    try:
        row: Any = json.loads(line)
        thing, *prices = (row[name] for name in FIELDS)
        if not isinstance(thing, str) or any(type(price) is not int for price in prices):
            raise ValueError("thing is text, list_price, budget and cost are whole numbers")
        return Bargain(thing, *prices)
    except KeyError as error:
        raise InputError(f"{path}: line {number}: no {error}; a bargain has {', '.join(FIELDS)}") from None
    except (ValueError, TypeError, RecursionError, InputError) as error:
        raise InputError(f"{path}: line {number}: no bargain ({error}): {line[:120]!r}") from None
