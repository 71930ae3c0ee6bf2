"""Behaviour that a corpus's authors measured: CANDOR's ``audio_video_features.csv``, a row a second and person.

Only its columns whose meaning is known become features of ours: the eight emotions and the gaze. Every other numeric
column is kept under its own name with `SUFFIX`, because its unit is not published: its intensity is not ours in dB.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apportion.corpus.files.csvfile import BLANK, parsed, read_head, read_table
from apportion.corpus.session import Media
from apportion.features.registry import EMOTIONS
from apportion.features.time_series import Series
from apportion.foundation.errors import UnitError
from apportion.foundation.truncate import shortened

KIND = "features"
"""``kind`` of the media rows that name such a file."""
TIME, PERSON = "timedelta", "user_id"
EMOTION_COLUMNS: Mapping[str, str] = {name: f"prob_face_{name}" for name in EMOTIONS}
GAZE, GAZE_COLUMN = "gaze_on_screen", "gaze_on"
KNOWN: Mapping[str, str] = {**EMOTION_COLUMNS, GAZE: GAZE_COLUMN}
"""Our feature -> its column; all of them are shares or probabilities, 0 to 1."""
SUFFIX = "_precomputed"
LATEST_S = 1e6
"""No conversation takes eleven days: a later time is a mistake."""
ROUNDING = 1e-3
"""Shares computed in single precision, or rounded, leave 0 to 1 by this much."""
CELL_S = 1.0
"""A row holds from its second to the next."""
TRUTH = {"true": 1.0, "false": 0.0}
CLOCK = re.compile(
    r"(?:(?P<days>\d{1,5}) days? \+?)?(?P<hours>\d{1,5}):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d(?:\.\d+)?)"
)


def read_precomputed(path: Path, person: str, offset_s: float) -> dict[str, Series]:
    """The behaviour of ``person`` by feature, on the session clock.

    ``path``: the CSV file. ``timedelta`` is ``HH:MM:SS``, ``0 days 00:00:01`` or seconds; blank cells are unobserved.
    ``person``: a ``user_id``; rows of others are passed over. ``offset_s``: session time of the file's time 0, seconds.
    Returns F values each [F] float64: the eight emotions (probabilities) and ``gaze_on_screen`` (share of the second),
    where the file has them, and ``<column>_precomputed`` for every other column that holds numbers alone. Raises
    ``UnitError``: a file that cannot be read or is empty, a missing column, a person without rows, a time or a
    probability that cannot be one, a second that comes twice (file, line, column and value).
    """
    rows = _rows(path, person)
    times_s = np.array([row.time_s() for row in rows]) + offset_s
    order = np.argsort(times_s, kind="stable")
    starts_s, rows = times_s[order], [rows[i] for i in order]
    for again in np.flatnonzero(np.diff(starts_s) <= 0):
        raise rows[again + 1].fault(TIME, f"a second of its own for each row of this user (line {rows[again].line})")
    ends_s = np.minimum(starts_s + CELL_S, np.append(starts_s[1:], np.inf))
    columns = [column for column in rows[0].cells if column not in (TIME, PERSON, "")]
    names = {column: feature for feature, column in KNOWN.items()}
    by_feature = {}
    for column in columns:
        values = [row.share(column) for row in rows] if column in names else _numbers(rows, column)
        if values is not None:
            by_feature[names.get(column, column + SUFFIX)] = Series(
                starts_s, ends_s, np.array(values, dtype=np.float64)
            )
    return by_feature


def precomputed_behaviour(media: Sequence[Media], root: Path) -> dict[str, dict[str, Series]]:
    """`read_precomputed` of every row of kind ``features`` in ``media``, by person; ``root`` is the corpus folder.

    Raises ``UnitError``: as `read_precomputed`, and for an address or a path that leaves the corpus folder.
    """
    from apportion.features.media_io.media import locate

    by_person = {}
    for row in sorted((m for m in media if m.kind == KIND), key=lambda m: m.speaker):
        by_person[row.speaker] = read_precomputed(locate(root, row.path), row.speaker, row.offset_s)
    return by_person


def unmeasured_faces(media: Sequence[Media], root: Path) -> set[str]:
    """Who is filmed, and whose emotions did not come with the corpus; only the files' first rows are read.

    A file of measurements that cannot be used measures nobody here; whoever extracts its session says what is amiss.
    """
    filmed = {row.speaker for row in media if row.kind == "video"}
    return filmed - {row.speaker for row in media if row.kind == KIND and _has_emotions(root, row.path)}


def _has_emotions(root: Path, path: str) -> bool:
    from apportion.features.media_io.media import locate

    try:
        header, _ = read_head(locate(root, path), path)
    except UnitError:
        return False
    return set(EMOTION_COLUMNS.values()) <= set(header)


@dataclass(frozen=True)
class _Row:
    """One row of the person: its file and line, and its cells by column."""

    name: str
    line: int
    cells: Mapping[str, str]

    def time_s(self) -> float:
        text = self.cells[TIME]
        match = CLOCK.fullmatch(text)
        if match:
            days, hours, minutes = (int(match[name] or 0) for name in ("days", "hours", "minutes"))
            value: float | None = days * 86400.0 + hours * 3600.0 + minutes * 60.0 + float(match["seconds"])
        else:
            value = None if text.lower() in TRUTH else _number(text)
        if value is None or not 0.0 <= value <= LATEST_S:
            raise self.fault(TIME, f"HH:MM:SS, '0 days HH:MM:SS' or seconds, 0 to {LATEST_S:,.0f} s,")
        return value

    def share(self, column: str) -> float:
        value = _number(self.cells[column])
        if value is None or not (math.isnan(value) or -ROUNDING <= value <= 1.0 + ROUNDING):
            raise self.fault(column, "a number from 0 to 1, or an empty cell,")
        return value if math.isnan(value) else min(1.0, max(0.0, value))

    def fault(self, column: str, need: str) -> UnitError:
        text = shortened(self.cells[column])
        return UnitError(f"{self.name}, line {self.line}, column {column}: {text!r}; {need} is needed.")


def _rows(path: Path, person: str) -> list[_Row]:
    """The rows of ``person`` in a file whose columns are all there."""
    table = read_table(path, path.name)
    if not table.header:
        raise UnitError(f"{path.name}: the file is empty. Copy it again, or import without features=precomputed.")
    emotions = [column for column in EMOTION_COLUMNS.values() if column in table.header]
    # Seven of eight probabilities would make another emotion the largest.
    for column in (TIME, PERSON, *(EMOTION_COLUMNS.values() if emotions else ())):
        table.position(column)
    if not emotions and GAZE_COLUMN not in table.header:
        raise UnitError(
            f"{path.name}: no column that is known ({', '.join(KNOWN.values())}). Is it CANDOR's file of that name?"
        )
    at = table.position(PERSON)
    theirs, others = [], dict[str, None]()
    for line, cells in table.rows:
        if cells[at].strip() != person:
            others[shortened(cells[at].strip())] = None
            continue
        theirs.append(_Row(path.name, line, dict(zip(table.header, (cell.strip() for cell in cells), strict=True))))
    if not theirs:
        shown = ", ".join(list(others)[:4]) or "nobody"
        raise UnitError(
            f"{path.name}: no row of user_id {person!r}; there are rows of {shown}. Correct the media table."
        )
    return theirs


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
