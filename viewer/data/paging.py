"""Long lists, a page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True)
class Page:
    """Page ``number`` (from 1) of ``pages``, each of ``size`` rows, of a list of ``found`` rows."""

    number: int
    pages: int
    size: int
    found: int

    @classmethod
    def of(cls, found: int, wanted: int, size: int) -> Page:
        """The page that is ``wanted``; the first or the last where there is none of that number.

        >>> Page.of(120, 9, 50), Page.of(0, 1, 50).pages
        (Page(number=3, pages=3, size=50, found=120), 1)
        """
        pages = max(1, -(-found // size))
        return cls(min(max(1, wanted), pages), pages, size, found)

    @property
    def start(self) -> int:
        """How many rows come before it."""
        return self.size * (self.number - 1)

    @property
    def range(self) -> str:
        """Its first and last row, in words.

        >>> Page.of(1120, 23, 50).range, Page.of(0, 1, 50).range
        ('1,101–1,120 of 1,120', '0 of 0')
        """
        last = min(self.start + self.size, self.found)
        return f"{self.start + 1:,}–{last:,} of {self.found:,}" if last else "0 of 0"

    def cut(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Its own of all ``rows``."""
        return rows[self.start : self.start + self.size]
