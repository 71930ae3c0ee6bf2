"""Rows of text under each other, every column as wide as its longest cell."""

from __future__ import annotations

from collections.abc import Sequence


def padded(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The same cells, filled with spaces to the width of their column; every row has a cell a column.

    Raises ValueError: Rows of different lengths.

    >>> padded([("who", "n"), ("Ann", "12")])
    [['who', 'n '], ['Ann', '12']]
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line a row for a terminal, two spaces between columns and none at the end; raises as `padded`.

    >>> columns([("who", "n"), ("Ann", "12")])
    ['who  n', 'Ann  12']
    """
    return ["  ".join(row).rstrip() for row in padded(rows)]
