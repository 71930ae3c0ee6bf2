"""``ratings.csv``: the scores that people gave, one a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from apportion.corpus import account
from apportion.corpus.files.csvfile import decimal_mark, number, parse_table
from apportion.corpus.files.csvtext import read_letters
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import shortened

NEEDED = ("rater", "target", "name", "score", "low", "high")
OPTIONAL = ("annotator", "higher_is_better")
FIGURES = ("score", "low", "high")
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
    """One row as text, with the place to name in messages, and what stands before the decimals of its figures."""

    place: str
    values: Mapping[str, str]
    decimal: str = "."

    def score(self) -> Score:
        """The row as a score.

        Raises ``UnitError``: a number that is none, an empty name, a truth value that is none.
        """
        for column in ("rater", "target", "name"):
            if not self.values[column]:
                raise UnitError(f"{self.place}, column {column}: empty. Fill it in.")
        score, low, high = (self._number(column) for column in FIGURES)
        rater, target, name = (self.values[column] for column in ("rater", "target", "name"))
        return Score(rater, target, name, score, low, high, self.values.get("annotator") or None, self._higher())

    def _number(self, column: str) -> float:
        return number(self.values[column], f"{self.place}, column {column}", "a number", self.decimal)

    def _higher(self) -> bool:
        given = (self.values.get("higher_is_better") or TRUE[0]).lower()
        if given not in (*TRUE, *FALSE):
            raise UnitError(f"{self.place}, column higher_is_better: {given!r}; true or false is needed.")
        return given in TRUE


def read_ratings(path: Path, session_id: str | None = None) -> dict[str, list[Row]]:
    """The rows of a ``ratings.csv`` by session; ``session_id`` is the session where the file has no such column.

    Raises ``InputError``: a file that cannot be read, a missing column (with the nearest that is there), a row that has
    more or fewer cells than there are columns, or a line break in one.
    """
    text = read_letters(path)
    needed = NEEDED if session_id is not None else ("session_id", *NEEDED)
    try:
        table = parse_table(text, path, str(path), ("session_id", *NEEDED, *OPTIONAL))
        for column in needed:
            table.position(column, "Add it.")
        for column in ("session_id", *OPTIONAL):
            table.optional(column)
        rows = list(table.rows)
    except UnitError as error:
        raise InputError(str(error)) from None
    mark = decimal_mark((row[table.header.index(column)] for _, row in rows for column in FIGURES), table.delimiter)
    account.current().read("scores", len(rows))
    by_session: dict[str, list[Row]] = {}
    for line, cells in rows:
        values = {column: cell.strip() for column, cell in zip(table.header, cells, strict=True)}
        for column, value in values.items():
            if len(value.splitlines()) > 1:
                raise InputError(
                    f"{path}, line {line}, column {column}: {shortened(value)!r} goes over several lines; a quote is "
                    "left open. Close it."
                )
        by_session.setdefault(values.get("session_id") or session_id or "", []).append(
            Row(f"{path.name}, line {line}", values, mark)
        )
    return by_session
