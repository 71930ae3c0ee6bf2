"""``ratings.csv``: the scores that people gave, one a row."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from apportion.corpus.files.textfile import read_text
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError, UnitError

NEEDED = ("rater", "target", "name", "score", "low", "high")
TRUE, FALSE = ("true", "1", "yes"), ("false", "0", "no")


@dataclass(frozen=True)
class Score:
    """One row: who gave whom which score on what scale."""

    rater: str
    target: str
    name: str
    score: float
    low: float
    high: float
    annotator: str | None = None
    higher_is_better: bool = True


@dataclass(frozen=True)
class Row:
    """One row as text, with the place to name in messages."""

    place: str
    values: Mapping[str, str]

    def score(self) -> Score:
        """The row as a score.

        Raises ``UnitError``: a number that is none, an empty name, a truth value that is none.
        """
        for column in ("rater", "target", "name"):
            if not self.values[column]:
                raise UnitError(f"{self.place}, column {column}: empty. Fill it in.")
        score, low, high = (self._number(column) for column in ("score", "low", "high"))
        rater, target, name = (self.values[column] for column in ("rater", "target", "name"))
        return Score(rater, target, name, score, low, high, self.values.get("annotator") or None, self._higher())

    def _number(self, column: str) -> float:
        try:
            value = float(self.values[column])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise UnitError(f"{self.place}, column {column}: {self.values[column]!r}; a number is needed.")
        return value

    def _higher(self) -> bool:
        given = (self.values.get("higher_is_better") or TRUE[0]).lower()
        if given not in (*TRUE, *FALSE):
            raise UnitError(f"{self.place}, column higher_is_better: {given!r}; true or false is needed.")
        return given in TRUE


def read_ratings(path: Path, session_id: str | None = None) -> dict[str, list[Row]]:
    """The rows of a ``ratings.csv`` by session; ``session_id`` is the session where the file has no such column.

    Raises ``InputError``: a file that cannot be read, or a missing column (with the nearest that is there).
    """
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    header = [name.strip().lower() for name in reader.fieldnames or []]
    reader.fieldnames = header
    for column in NEEDED if session_id is not None else ("session_id", *NEEDED):
        if column not in header:
            hint = did_you_mean(column, header, "Add it.", after=" Rename it.")
            raise InputError(f"{path}: no column {column!r}; {hint} Found: {', '.join(header) or 'none'}.")
    by_session: dict[str, list[Row]] = {}
    try:
        for values in reader:
            row = {key: (values.get(key) or "").strip() for key in header}
            id_ = row.get("session_id") or session_id or ""
            by_session.setdefault(id_, []).append(Row(f"{path.name}, line {reader.line_num}", row))
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: not readable CSV ({error}). Correct that line.") from None
    return by_session
