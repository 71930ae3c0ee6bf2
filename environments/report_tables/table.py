"""A table of the paper's shape: cells with counts and intervals, as text, Markdown and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apportion.environments.terminal.console import printable
from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.estimate import IntervalEstimate, Missing
from apportion.foundation.intervals.resampling import Sampling, Statistic, interval
from apportion.foundation.tables.columns import columns
from apportion.foundation.tables.markdown import escaped, markdown_table
from apportion.foundation.tables.numbers import NO_FIGURE, fixed, p_value
from apportion.foundation.truncate import listed


@dataclass(frozen=True)
class Value(IntervalEstimate):
    """A figure with its interval over episodes: none with a single one, or where most resamples give no figure.

    ``items``: How many scores, pairs of scores or rated persons it is made of. ``episodes``: From how many episodes
    these are. ``p``: Of the test that belongs to it.
    """

    items: int
    episodes: int
    p: float | None = None


Figure = Value | Missing


def mean(episodes: Sequence[str], x: Sequence[float], sampling: Sampling) -> Figure:
    """The mean of scores [shape=(N,)], each from one of ``episodes``; two of one episode are drawn together."""
    if not x:
        return Missing("nobody rated it")
    sums = sums_by_episode(episodes, np.ones(len(x)), np.asarray(x, float))
    return value_of(sums, lambda s: s[..., 1] / s[..., 0], len(x), sampling)


def sums_by_episode(episodes: Sequence[str], *columns: Floats) -> Floats:
    """By episode the sums of each column [shape=(E, C)]."""
    names, place = np.unique(np.asarray(episodes), return_inverse=True)
    return np.stack([np.bincount(place, weights=column, minlength=len(names)) for column in columns], axis=-1)


def value_of(sums: Floats, statistic: Statistic, items: int, sampling: Sampling) -> Value:
    """A figure of sums by episode [shape=(E, C)], with its interval."""
    value = float(statistic(sums.sum(axis=0)))
    low, high = interval(sums, statistic, sampling)
    return Value(value, low, high, items, len(sums))


SIMULATED = "simulated: no person spoke as themselves"
"""Stands under every title."""


@dataclass(frozen=True)
class AnnotatedCell:
    """A figure with a mark behind it, which a note explains (``*``: significant)."""

    figure: Value
    mark: str


Cell = str | int | float | Value | Missing | AnnotatedCell


@dataclass(frozen=True)
class Table:
    """One table or figure of the paper.

    ``key``: Its name as a file: ``table_1``, ``figure_g4``. ``title``: Which one of the paper it is, of what. ``rows``:
    A cell a column; without rows, ``absent`` says why. ``notes``: How to read it. ``absent``: Why it is not there;
    empty where it is. ``picture``: The figure as SVG. ``decimals``: Of its figures. ``naming``: How many of the first
    columns name a row. ``fill``: The command that gives what is ``absent``; empty where there is none.
    """

    key: str
    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    notes: tuple[str, ...] = ()
    absent: str = ""
    picture: str | None = None
    decimals: int = 2
    naming: int = 1
    fill: str = ""

    def text(self) -> str:
        """For a terminal."""
        lines = [printable(self.title), f"({SIMULATED})"]
        if self.absent:
            return "\n".join([*lines, f"  not there, because {printable(self.absent)}"])
        cells = [self.columns, *(tuple(shown(cell, self.decimals) for cell in row) for row in self.rows)]
        lines += [f"  {line}" for line in columns([[printable(cell) for cell in row] for row in cells])]
        return "\n".join([*lines, *(f"  {printable(note)}" for note in self._notes())])

    def markdown(self) -> str:
        """As Markdown; names in it are escaped."""
        lines = [f"**{safe(self.title)}** ({SIMULATED})", ""]
        if self.absent:
            return "\n".join([*lines, f"not there, because {safe(self.absent)}"])
        rows = [[printable(shown(cell, self.decimals)) for cell in row] for row in self.rows]
        lines.append(markdown_table([printable(column) for column in self.columns], rows))
        if self.picture:
            lines += ["", f"![{safe(self.title)}]({self.key}.svg)"]
        return "\n".join([*lines, "", *(f"- {safe(note)}" for note in self._notes())])

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; a figure that is not there is null with its reason, never 0."""
        return {
            "key": self.key,
            "title": self.title,
            "simulated": True,
            "not_there_because": self.absent or None,
            "columns": list(self.columns),
            "rows": [[_json(cell) for cell in row] for row in self.rows],
            "notes": list(self._notes()),
        }

    def fills(self) -> list[tuple[str, str, str]]:
        """Why something is not there, the command that gives it, and of which rows, where one reason has several."""
        found: dict[tuple[str, str], dict[str, None]] = {(self.absent, self.fill): {}}
        for row in self.rows:
            for cell in row:
                if isinstance(cell, Missing):
                    found.setdefault((cell.reason, cell.fill), {})[self._named(row)] = None
        ways = Counter(reason for reason, fill in found if fill)
        return [
            (reason, fill, "" if ways[reason] == 1 else ", ".join(rows))
            for (reason, fill), rows in found.items()
            if fill
        ]

    def _notes(self) -> tuple[str, ...]:
        """Its own, and why single figures are not there."""
        found: dict[str, list[str]] = {}
        whole = {place: _reason_of_all(row) for place, row in enumerate(self.rows)}
        for place, row in enumerate(self.rows):
            if (reason := whole[place]) is not None:
                found.setdefault(reason, []).append(self._named(row))
        rest = [row for place, row in enumerate(self.rows) if whole[place] is None]
        for place, column in enumerate(self.columns):
            if (reason := _reason_of_all([row[place] for row in rest])) is not None:
                found.setdefault(reason, []).append(column)
                continue
            for row in rest:
                if isinstance(cell := row[place], Missing):
                    found.setdefault(cell.reason, []).append(f"{self._named(row)}, {column}")
        absent = (
            f"{NO_FIGURE} not there, because {reason}: {listed(list(dict.fromkeys(where)), 8, separator='; ')}"
            for reason, where in found.items()
        )
        return (*self.notes, *absent)

    def _named(self, row: Sequence[Cell]) -> str:
        return " ".join(shown(cell, self.decimals) for cell in row[: self.naming])


def _reason_of_all(cells: Sequence[Cell]) -> str | None:
    """Why none of several figures is there, if none is, all for one reason, and there is more than one."""
    figures = [cell for cell in cells if isinstance(cell, Value | Missing | AnnotatedCell)]
    reasons = {cell.reason if isinstance(cell, Missing) else None for cell in figures}
    return reasons.pop() if len(figures) > 1 and len(reasons) == 1 else None


def shown(cell: Cell, decimals: int) -> str:
    """A cell as a person reads it: value, interval, count.

    >>> shown(Value(0.714, 0.5, 0.83, items=60, episodes=30), 2), shown(Missing("nobody rated it"), 2), shown(-3, 2)
    ('0.71 [0.50, 0.83] n=60', '–', '-3')
    """
    if isinstance(cell, AnnotatedCell):
        value, _, rest = shown(cell.figure, decimals).partition(" ")
        return f"{value}{cell.mark} {rest}"
    if isinstance(cell, Missing):
        return NO_FIGURE
    if isinstance(cell, Value):
        p = "" if cell.p is None else f" {p_value(cell.p, named=True)}"
        return f"{cell.text(decimals)} n={cell.items:,}{p}"
    if isinstance(cell, float):
        return fixed(cell, decimals)
    return f"{cell:,}" if isinstance(cell, int) else cell


def safe(text: str) -> str:
    """`printable` text where it stands in Markdown."""
    return escaped(printable(text))


def starred(figure: Value, p: float | None, levels: Sequence[tuple[float, str]]) -> Value | AnnotatedCell:
    """A figure with the mark of the first level that ``p`` reaches."""
    mark = next((mark for level, mark in levels if p is not None and p <= level), "")
    return AnnotatedCell(figure, mark) if mark else figure


def _json(cell: Cell) -> Any:
    if isinstance(cell, AnnotatedCell):
        return {**_json(cell.figure), "mark": cell.mark}
    if isinstance(cell, Missing):
        return {"value": None, "because": cell.reason}
    if isinstance(cell, Value):
        return {
            "value": cell.value, "low": cell.low, "high": cell.high, "p": cell.p, "n": cell.items,
            "episodes": cell.episodes,
        }  # fmt: skip
    return cell
