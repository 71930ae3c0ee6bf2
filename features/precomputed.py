"""Behaviour that others measured: CANDOR's ``audio_video_features.csv``, and files of other programs.

The media row's map (`apportion.corpus.recordings.feature_map`) says which columns are features of ours. Of CANDOR's
these are the eight emotions and the gaze; every other numeric column is kept under its own name with `SUFFIX`, because
its unit is not published: its intensity is not ours in dB. Of other files the rest is passed over.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apportion.corpus.files.csvfile import BLANK, parsed, read_head, read_table
from apportion.corpus.recordings.feature_map import KNOWN, LEVELS, NAME, READY, SHARES, Column, FeatureMap, parse_map
from apportion.corpus.session import Media
from apportion.features.registry import EMOTIONS
from apportion.features.time_series import Series
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError
from apportion.foundation.truncate import shortened

KIND = "features"
"""``kind`` of the media rows that name such a file."""
EMOTION_COLUMNS: Mapping[str, str] = {c.feature: c.name for c in READY[NAME].columns if c.feature in EMOTIONS}
GAZE = "gaze_on_screen"
SUFFIX = "_precomputed"
LATEST_S = 1e6
"""No conversation takes eleven days: a later time is a mistake."""
ROUNDING = 1e-3
"""Shares computed in single precision, or rounded, leave 0 to 1 by this much."""
CELL_S = 1.0
"""A row holds to the next, but no longer than this, or than `HOLD_ROWS` usual steps."""
HOLD_ROWS = 2.5
TRUTH = {"true": 1.0, "false": 0.0}
CLOCK = re.compile(
    r"(?:(?P<days>\d{1,5}) days? \+?)?(?P<hours>\d{1,5}):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d(?:\.\d+)?)"
)


def read_precomputed(path: Path, person: str, offset_s: float, text: str | None = None) -> dict[str, Series]:
    """The behaviour of ``person`` by feature, on the session clock.

    ``path``: a CSV or TSV file. Its times are ``HH:MM:SS``, ``0 days 00:00:01``, seconds, or numbers of pictures; blank
    cells are unobserved. ``person``: of CANDOR's file, whose rows of others are passed over; any other is one person's.
    ``offset_s``: session time of the file's time 0, seconds. ``text``: the map, CANDOR's where None.
    Returns F values each [F] float64: every feature of the map whose column is there, in the feature's unit, and of
    CANDOR's file ``<column>_precomputed`` for every other column that holds numbers alone. Raises ``UnitError``: a file
    that cannot be read or is empty, a missing column, a person without rows, a time, a share or a figure that cannot be
    one, a time that comes twice (file, line, column and value), a map that is none.
    """
    wanted = parse_map(NAME if text is None else text)
    rows, time = _rows(path, person, wanted)
    times_s = np.array([row.time_s(time, wanted.rate_hz) for row in rows]) + offset_s
    order = np.argsort(times_s, kind="stable")
    starts_s, rows = times_s[order], [rows[i] for i in order]
    for again in np.flatnonzero(np.diff(starts_s) <= 0):
        raise rows[again + 1].fault(time, f"a time of its own for each row of one person (line {rows[again].line})")
    cells = (starts_s, np.minimum(starts_s + _longest_s(starts_s), np.append(starts_s[1:], np.inf)))
    seen = [not row.is_unseen(wanted.seen) for row in rows]
    by_feature = {}
    for column in wanted.columns:
        if column.name in rows[0].cells:
            values = np.where(seen, [row.value(column) for row in rows], np.nan)
            by_feature[column.feature] = Series(*cells, values, decibel=column.feature in LEVELS)
    for feature in wanted.absent:
        by_feature[feature] = Series(*cells, np.full(len(rows), np.nan))
    named = {*(column.name for column in wanted.columns), time, wanted.person, ""}
    for name in [name for name in rows[0].cells if name not in named] if wanted.rest else ():
        figures = _numbers(rows, name)
        if figures is not None:
            by_feature[name + SUFFIX] = Series(*cells, np.array(figures, dtype=np.float64))
    return by_feature


def _longest_s(starts_s: Floats) -> float:
    """How long a row may hold: a second a row is CANDOR's; of a film's pictures a gap is a gap."""
    return min(CELL_S, HOLD_ROWS * float(np.median(np.diff(starts_s)))) if len(starts_s) > 1 else CELL_S


def precomputed_behaviour(media: Sequence[Media], root: Path) -> dict[str, dict[str, Series]]:
    """`read_precomputed` of every row of kind ``features`` in ``media``, by person; ``root`` is the corpus folder.

    Raises ``UnitError``: as `read_precomputed`, and for a path that leaves the corpus folder.
    """
    from apportion.features.media_io.media import located

    by_person = {}
    for row in sorted((m for m in media if m.kind == KIND), key=lambda m: m.speaker):
        with located(root, row.path) as place:
            by_person[row.speaker] = read_precomputed(place, row.speaker, row.offset_s, row.channel)
    return by_person


def unmeasured_faces(media: Sequence[Media], root: Path) -> set[str]:
    """Who is filmed, and whose emotions did not come with the corpus; only the files' first rows are read.

    A file of measurements that cannot be used measures nobody here; whoever extracts its session says what is amiss.
    """
    filmed = {row.speaker for row in media if row.kind == "video"}
    return filmed - {row.speaker for row in media if row.kind == KIND and _has_emotions(root, row)}


def _has_emotions(root: Path, row: Media) -> bool:
    from apportion.features.media_io.media import located

    try:
        with located(root, row.path) as place:
            header, _ = read_head(place, row.path)
        wanted = parse_map(NAME if row.channel is None else row.channel)
    except UnitError:
        return False
    known = {column.feature for column in wanted.columns if column.name in header} | {*wanted.absent}
    return set(EMOTIONS) <= known


@dataclass(frozen=True)
class _Row:
    """One row of the person: its file and line, and its cells by column."""

    name: str
    line: int
    cells: Mapping[str, str]

    def time_s(self, column: str, rate_hz: float | None) -> float:
        text = self.cells[column]
        match = CLOCK.fullmatch(text)
        if match and rate_hz is None:
            days, hours, minutes = (int(match[name] or 0) for name in ("days", "hours", "minutes"))
            value: float | None = days * 86400.0 + hours * 3600.0 + minutes * 60.0 + float(match["seconds"])
        else:
            value = None if text.lower() in TRUTH else _number(text)
            value = value if value is None or rate_hz is None else value / rate_hz
        if value is None or not 0.0 <= value <= LATEST_S:
            raise self.fault(column, f"HH:MM:SS, '0 days HH:MM:SS' or seconds, 0 to {LATEST_S:,.0f} s,")
        return value

    def is_unseen(self, column: str | None) -> bool:
        return column in self.cells and _number(self.cells[column or ""]) == 0.0

    def value(self, column: Column) -> float:
        """The feature's value; NaN where nothing was observed, and where no pitch is told as 0."""
        figure = _number(self.cells[column.name])
        if figure is None:
            raise self.fault(column.name, "a number, or an empty cell,")
        try:
            value = figure if math.isnan(figure) else column.read(figure)
        except OverflowError:
            raise self.fault(column.name, "a smaller number, or an empty cell,") from None
        if math.isnan(value) or (column.feature == "f0_hz" and value == 0.0):
            return math.nan
        if column.feature in SHARES and not -ROUNDING <= value <= 1.0 + ROUNDING:
            raise self.fault(column.name, "a number from 0 to 1, or an empty cell,")
        return min(1.0, max(0.0, value)) if column.feature in SHARES else value

    def fault(self, column: str, need: str) -> UnitError:
        text = shortened(self.cells[column])
        return UnitError(f"{self.name}, line {self.line}, column {column}: {text!r}; {need} is needed.")


def _rows(path: Path, person: str, wanted: FeatureMap) -> tuple[list[_Row], str]:
    """The rows of ``person`` in a file whose columns are all there, and the column of their times."""
    table = read_table(path, path.name, () if wanted.rest else KNOWN)
    if not table.header:
        raise UnitError(f"{path.name}: the file is empty. Copy it again, or import without it.")
    time = next((name for name in wanted.times if name in table.header), wanted.times[0])
    known = [column.name for column in wanted.columns]
    emotions = [column.name for column in wanted.columns if column.feature in EMOTIONS]
    # Seven of eight probabilities would make another emotion the largest.
    whole = emotions if wanted.rest and any(name in table.header for name in emotions) else ()
    for name in (time, *((wanted.person,) if wanted.person else ()), *whole):
        table.position(name)
    if not any(name in table.header for name in known):
        raise UnitError(
            f"{path.name}: no column that is known ({', '.join(known)}). Is it the file that its map is meant for?"
        )
    read = [name for name in table.header if wanted.rest or name in (time, wanted.seen, *known)]
    at = {name: table.position(name) for name in read if name}
    theirs, others = [], dict[str, None]()
    for line, cells in table.rows:
        whose = cells[at[wanted.person]].strip() if wanted.person else person
        if whose != person:
            others[shortened(whose)] = None
            continue
        theirs.append(_Row(path.name, line, {name: cells[i].strip() for name, i in at.items()}))
    if not theirs:
        shown = ", ".join(list(others)[:4]) or "nobody"
        raise UnitError(
            f"{path.name}: no row of user_id {person!r}; there are rows of {shown}. Correct the media table."
        )
    return theirs, time


def _numbers(rows: Sequence[_Row], column: str) -> list[float] | None:
    """A column of unknown meaning [F], None where any cell is a text or none has a value."""
    values = [value for value in (_number(row.cells[column]) for row in rows) if value is not None]
    if len(values) < len(rows) or all(map(math.isnan, values)):
        return None
    return values


def _number(text: str) -> float | None:
    """NaN for a blank cell, 1 and 0 for True and False, None for what is no finite number."""
    if text.lower() in BLANK:
        return math.nan
    if text.lower() in TRUTH:
        return TRUTH[text.lower()]
    return parsed(text)
