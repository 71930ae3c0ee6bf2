"""What an import told of a corpus's recordings, or what there is to tell of them now."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from apportion.corpus.files.tablefile import find_table
from apportion.corpus.recordings.mirrored import Mirror
from apportion.corpus.recordings.people import PersonLine, people_of
from apportion.corpus.schema import CORPUS_TABLES
from apportion.corpus.session import Session

REPORT = "import_report.json"
"""Says in a corpus folder what became of its import: every session that was left out and why, who is recorded how."""


@dataclass(frozen=True)
class Told:
    """``people``: a line each; ``chosen``: what the importer had to choose, as one of two films."""

    people: tuple[PersonLine, ...] = ()
    chosen: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes figures doubtful, with the next step."""
        return tuple(warning for line in self.people for warning in line.warnings)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values, which `told_before` reads."""
        return {"people": [asdict(line) for line in self.people], "chosen": list(self.chosen)}


NOTHING = Told()


class Recorded(Protocol):
    """What is looked at of a corpus."""

    @property
    def root(self) -> Path: ...  # noqa: D102
    @property
    def media(self) -> pa.Table: ...  # noqa: D102
    def session_ids(self) -> list[str]: ...  # noqa: D102
    def session(self, session_id: str, /) -> Session: ...  # noqa: D102


def look(corpus: Recorded, chosen: tuple[str, ...] = ()) -> Told:
    """Look at every recording of ``corpus``: seconds for a hundred of them."""
    sessions = dict.fromkeys(corpus.media.column("session_id").to_pylist())
    known = [name for name in corpus.session_ids() if name in sessions]
    return Told(tuple(line for name in known for line in people_of(corpus.session(name), corpus.root)), chosen)


def told_before(root: Path) -> Told | None:
    """What stands in the report of the import, where it is no older than the corpus's tables; else None.

    Of a corpus at a URL it is believed: when its tables were put there says nothing.
    """
    try:
        written = (root / REPORT).stat().st_mtime_ns
        tables = [find_table(root, schema.name) for schema in CORPUS_TABLES]
        if not isinstance(root, Mirror) and any(one is not None and one.stat().st_mtime_ns > written for one in tables):
            return None
        told = json.loads((root / REPORT).read_text(encoding="utf-8"))["recordings"]
        people = tuple(PersonLine(**{**line, **_tuples(line)}) for line in told["people"])
        return Told(people, tuple(map(str, told["chosen"])))
    except (OSError, ValueError, KeyError, TypeError):  # Another version's report, or nobody's.
        return None


def _tuples(line: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(map(str, line[name])) for name in ("parts", "faults")}
