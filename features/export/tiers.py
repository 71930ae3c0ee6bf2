"""Tiers: labelled stretches of time that do not overlap, the common ground of ELAN and Praat."""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LATEST_MS = 2**32 - 1
"""The last time that an .eaf file can hold (an unsigned 32-bit number of milliseconds, 49 days)."""
REPLACEMENT = "\ufffd"

_UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, order=True)
class Interval:
    """A label from ``start_ms`` to ``end_ms``, whole milliseconds on the session clock."""

    start_ms: int
    end_ms: int
    label: str


@dataclass(frozen=True)
class Tier:
    """One row of annotations. ``name`` is unique in its file; ``kind`` is what its labels are (text, a feature)."""

    name: str
    person: str
    kind: str
    intervals: tuple[Interval, ...]


def interval(start_s: float | None, end_s: float | None, label: str) -> Interval | None:
    """A labelled interval, or None where the times are missing, no numbers, turned round or out of range.

    What lies before the session's start is cut off. An interval shorter than a millisecond gets one, because neither
    program shows shorter ones.
    """
    if start_s is None or end_s is None or not math.isfinite(start_s) or not math.isfinite(end_s) or end_s < start_s:
        return None
    start_s = max(0.0, start_s)
    if end_s < start_s or end_s * 1000 > LATEST_MS - 1:
        return None
    start_ms, end_ms = round(start_s * 1000), round(end_s * 1000)
    return Interval(start_ms, max(end_ms, start_ms + 1), clean(label))


def clean(text: str) -> str:
    """``text`` with ends of line as ``\\n`` and what XML cannot hold (control characters) as U+FFFD."""
    return _UNPRINTABLE.sub(REPLACEMENT, text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """``text`` on one line: any run of white space is one blank."""
    return " ".join(clean(text).split())


def layers(intervals: Iterable[Interval]) -> list[tuple[Interval, ...]]:
    """Split intervals into as few rows as possible in which nothing overlaps; nothing is cut or lost.

    Equal intervals become one. The first row is the fullest at every moment: an interval goes to a further row only
    where all before it are taken.
    """
    rows: list[list[Interval]] = []
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    for item in sorted(set(intervals)):
        while busy and busy[0][0] <= item.start_ms:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if not free:
            free.append(len(rows))
            rows.append([])
        row = heapq.heappop(free)
        rows[row].append(item)
        heapq.heappush(busy, (item.end_ms, row))
    return [tuple(row) for row in rows]


def make_tiers(contents: Sequence[tuple[str, str, Iterable[Interval]]]) -> list[Tier]:
    """Tiers ``KIND@PERSON`` of (kind, person, intervals), in that order; empty ones are left out.

    Where intervals overlap, further tiers are called ``KIND@PERSON 2`` and so on, and so are those of people whose
    names look alike.
    """
    tiers: list[Tier] = []
    taken: set[str] = set()
    for kind, person, intervals in contents:
        kind, person = one_line(kind), one_line(person)
        for row in layers(intervals):
            name, number = f"{kind}@{person}", 2
            while name in taken:
                name, number = f"{kind}@{person} {number}", number + 1
            taken.add(name)
            tiers.append(Tier(name, person, kind, row))
    return tiers
