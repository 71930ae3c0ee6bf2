"""Answers that were given elsewhere, as a file beside the study that its report reads."""

from __future__ import annotations

import hmac
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.study.design.folder import StudyFolder
from apportion.study.rows import IMPORTED, AnswerRow, is_reserved, read_row_file, rows_text

HOURS = {"PST": -8, "PDT": -7, "UTC": 0, "GMT": 0}
"""Zones of times in files from elsewhere, in hours from UTC."""
MOST_SECONDS = 86_400.0
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


@dataclass
class ExternalAnswers:
    """Rows as they are read, the last of each annotator and item, and what was passed over, with counts."""

    rows: dict[tuple[str, str], AnswerRow] = field(default_factory=dict)
    passed: Counter[str] = field(default_factory=Counter)

    def take(self, row: AnswerRow) -> None:
        """Keep a row; of several of one annotator on one item, the one that was given last."""
        key = (row.annotator, row.item)
        before = self.rows.get(key)
        if before is not None:
            self.passed["earlier answers of the same annotator to the same item"] += 1
        # Where it is not known when either was given, the one that stands later in the file is the later one.
        if before is None or not (row.at and before.at) or row.at >= before.at:
            self.rows[key] = row

    def notes(self) -> tuple[str, ...]:
        """What was passed over, a sentence each."""
        return tuple(f"{count:,} {what}" for what, count in sorted(self.passed.items()))


def keep(study: StudyFolder, arrived: ExternalAnswers, source: Path) -> Path:
    """Write rows into ``STUDY/imported``, under the source's name; the same source again, or grown, replaces them.
    Raises InputError: no row; an annotator's answer to an item that came from another file already; another source of
    the same name, whose answers would be lost.
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
    lost = {(row.annotator, row.item) for row in read_row_file(out)} - set(arrived.rows) if out.is_file() else set()
    if lost:
        raise InputError(
            f"{source}: {out} has {len(lost):,} answers from a file of this name that are not in this one. Give "
            "this one another name to have both, or remove that one."
        )
    write_atomically(out, rows_text(arrived.rows.values()))
    return out


def in_utc(text: str) -> str:
    """A time from elsewhere as ISO 8601 in UTC, to the second; empty where it cannot be read.

    >>> in_utc("Fri Nov 20 10:00:00 PST 2026"), in_utc("2026-11-20T10:00:00.5Z"), in_utc("yesterday")
    ('2026-11-20T18:00:00+00:00', '2026-11-20T10:00:00+00:00', '')
    """
    words = text.split()
    try:
        if len(words) == 6 and words[4] in HOURS:  # As Mechanical Turk writes it.
            bare = " ".join([*words[1:4], words[5]])
            zone = timezone(timedelta(hours=HOURS[words[4]]))
            moment = datetime.strptime(bare, "%b %d %H:%M:%S %Y").replace(tzinfo=zone)
        else:
            moment = datetime.fromisoformat(text.strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return ""


def seconds_of(value: object) -> float:
    """Seconds that a file tells; 0 where they are no number, or none that a person may have taken."""
    try:
        seconds = float(str(value))
    except (ValueError, OverflowError):
        return 0.0
    return min(seconds, MOST_SECONDS) if seconds > 0 else 0.0


def annotator_from(text: str, where: str, seed: int) -> str:
    """An id from elsewhere: as it is where it can be one, else (an address, a name, an id that is given here, such as a
    simulated annotator's) a hash, which says who it is to nobody who does not know the study's seed.

    >>> annotator_from("A2B3C", "mturk", 7), annotator_from("ann@example.org", "label-studio", 7)
    ('A2B3C', 'label-studio-2027d0fd15b0c87a')
    """
    own = text.startswith(f"{where}-")
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text) and (own or not is_reserved(text)):
        return text
    digest = hmac.digest(str(seed).encode(), text.encode(errors="surrogatepass"), "sha256")
    return f"{where}-{digest.hex()[:16]}"
