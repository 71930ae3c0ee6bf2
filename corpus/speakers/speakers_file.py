"""A person's word on labels: a table of two columns, ``label`` and ``name``, and ``session_id`` where it matters."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from apportion.corpus.files.csvfile import read_table
from apportion.corpus.speakers.names import clean_name, name_key
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import first_few


@dataclass(frozen=True)
class SpeakersFile:
    """Name by session (`clean_name`; None: all) and label (`name_key`); an empty name says that the label is text."""

    names: dict[tuple[str | None, str], str] = field(default_factory=dict)

    def name_of(self, session_id: str, label: str) -> str | None:
        """Whose ``label`` is in the session; None where nothing is said of it."""
        key = name_key(label)
        return self.names.get((clean_name(session_id), key), self.names.get((None, key)))

    def to_csv(self) -> str:
        """The same as text that `read_speakers` reads."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("session_id", "label", "name"))
        rows.writerows((session_id or "", label, name) for (session_id, label), name in self.names.items())
        return text.getvalue()

    def unused(self, labels: Iterable[tuple[str, str]]) -> list[str]:
        """What to tell of rows that no ``labels`` (session, label) have: a typing error would go unseen."""
        seen = {(clean_name(id_), name_key(label)) for id_, label in labels}
        anywhere = {key for _, key in seen}
        odd = [key for id_, key in self.names if (key not in anywhere if id_ is None else (id_, key) not in seen)]
        return [f"the file of speakers names labels that no transcript has: {first_few(odd)}"] if odd else []


def read_speakers(path: Path) -> SpeakersFile:
    """Read the table.

    Raises ``InputError``: a file that cannot be read, a column that is missing, an empty label, or one with two names.
    """
    names: dict[tuple[str | None, str], str] = {}
    try:
        table = read_table(path, path.name)
        label_at, name_at, session_at = table.position("label"), table.position("name"), table.optional("session_id")
        for line, cells in table.rows:
            place, label, name = f"{path.name}, line {line}", clean_name(cells[label_at]), clean_name(cells[name_at])
            session = clean_name(cells[session_at]) if session_at is not None else ""
            key = (session or None, name_key(label))
            if not label:
                raise UnitError(f"{place}, column label: empty. Write the label as it stands in the transcript.")
            if names.setdefault(key, name) != name:
                raise UnitError(f"{place}: {label!r} is {names[key]!r} above and {name!r} here. Keep one of the rows.")
    except UnitError as error:
        raise InputError(f"speakers={path}: {error}") from None
    return SpeakersFile(names)
