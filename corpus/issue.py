"""One fault or oddity of a corpus, with the place, the value, what is allowed and the next step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class ValidationIssue:
    """A fault ("error") keeps its session out of a run; an oddity ("warning") is only said.

    ``row`` counts from 1 in the order of the table's file and is None where no single row is at fault;
    ``session_id`` is None for what concerns the corpus as a whole.
    """

    table: str
    row: int | None
    column: str
    session_id: str | None
    value: str
    allowed: str
    hint: str
    severity: Severity = "error"

    def __str__(self) -> str:
        place = [self.table]
        if self.row is not None:
            place.append(f"row {self.row}")
        place.append(f"column {self.column}")
        if self.session_id is not None:
            place.append(f"session {self.session_id}")
        return f"{', '.join(place)}: {self.value}; allowed: {self.allowed}. {self.hint}"
