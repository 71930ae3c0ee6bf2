"""Labels of which nobody can be sure whether they are people: asked about, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apportion.corpus.speakers.names import clean_name
from apportion.foundation.errors import InputError
from apportion.foundation.tables.columns import columns
from apportion.foundation.truncate import shortened

MOST = 20


@dataclass(frozen=True)
class Doubt:
    """A label, the cues that begin with it, and the first of them."""

    session_id: str
    label: str
    cues: int
    place: str
    written: str


class UnsureSpeakersError(InputError):
    """Labels that may be speakers or the beginning of a sentence; ``doubts`` are all of them."""

    def __init__(self, doubts: Sequence[Doubt]) -> None:
        self.doubts = tuple(doubts)
        rows = [("session", "label", "cues", "first at", "text")]
        rows += [
            (one.session_id, one.label, f"{one.cues:,}", one.place, shortened(clean_name(one.written)))
            for one in doubts[:MOST]
        ]
        more = f"({len(doubts) - MOST:,} more)\n" if len(doubts) > MOST else ""
        table = "\n".join(columns(rows))
        super().__init__(
            f"who speaks is not sure: {len(doubts):,} labels that come once, or read like text, are known neither to "
            f"ratings nor to recordings.\n{table}\n{more}"
            "Write a CSV file with the columns label,name (a name that is left empty: the label is text) "
            "and give it as -o speakers=FILE."
        )
