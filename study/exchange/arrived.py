"""Answers that were given elsewhere, as a file beside the study that its report reads."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from foundation.errors import InputError
from foundation.files import write_atomically
from study.definition.folder import StudyFolder
from study.rows import IMPORTED, AnswerRow, read_row_file, rows_text

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


@dataclass
class Arrived:
    """Rows as they are read, the last of each annotator and item, and what was passed over, with counts."""

    rows: dict[tuple[str, str], AnswerRow] = field(default_factory=dict)
    passed: Counter[str] = field(default_factory=Counter)

    def take(self, row: AnswerRow) -> None:
        """Keep a row; of several of one annotator on one item, the one that was given last."""
        key = (row.annotator, row.item)
        before = self.rows.get(key)
        if before is not None:
            self.passed["earlier answers of the same annotator to the same item"] += 1
        if before is None or row.at >= before.at:
            self.rows[key] = row

    def notes(self) -> tuple[str, ...]:
        """What was passed over, a sentence each."""
        return tuple(f"{count:,} {what}" for what, count in sorted(self.passed.items()))


def keep(study: StudyFolder, arrived: Arrived, source: Path) -> Path:
    """Write rows into ``STUDY/imported``, under the source's name; the same source again replaces them.

    Raises
    ------
    InputError
        No row; an annotator's answer to an item that came from another file already.
    """
    if not arrived.rows:
        told = "; ".join(arrived.notes())
        raise InputError(f"{source}: no answer in it{f' ({told})' if told else ''}. Nothing was kept.")
    folder = study.path / IMPORTED
    out = folder / f"{_FOREIGN.sub('-', source.stem)[:60] or 'answers'}.jsonl"
    folder.mkdir(exist_ok=True)
    others = [path for path in sorted(folder.glob("*.jsonl")) if path != out]
    there = {(row.annotator, row.item) for path in others for row in read_row_file(path)}
    twice = sorted(there & set(arrived.rows))
    if twice:
        raise InputError(
            f"{source}: annotator {twice[0][0]} answers item {twice[0][1]}, and does so in another file of {folder}, "
            "too. Remove that one, or import this one without it."
        )
    write_atomically(out, rows_text(arrived.rows.values()))
    return out


def annotator_from(text: str, where: str) -> str:
    """An id from elsewhere: as it is where it can be one, else (an address, a name) a hash that tells nothing.

    >>> annotator_from("A2B3C", "mturk"), annotator_from("ann@example.org", "label-studio")
    ('A2B3C', 'label-studio-438c4c7a')
    """
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text):
        return text
    return f"{where}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
