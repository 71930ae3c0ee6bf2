"""Files of behaviour that another program measured, one a speaker: ``alice.features.csv``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from apportion.corpus.files.csvfile import read_head
from apportion.corpus.importers.reading.recordings import TrackPart
from apportion.corpus.recordings.feature_map import KNOWN, READY, parse_map, recognised
from apportion.corpus.speakers.names import same_name
from apportion.foundation.errors import InputError, UnitError

ENDING = ".features"
"""What stands before a table's own ending."""


def is_measured(path: Path) -> bool:
    """Whether the name says that the table holds measurements, and no words or scores."""
    return path.stem.lower().endswith(ENDING)


def measured_speaker(path: Path) -> str:
    """Whose measurements the file's name says they are."""
    return path.stem[: -len(ENDING)]


def check_map(kind: str, text: str | None) -> None:
    """Refuse the option ``map`` of the importer ``kind`` where it is none. Raises ``InputError``."""
    try:
        if text is not None:
            parse_map(text)
    except UnitError as error:
        raise InputError(f"import {kind}: option {error}") from None


def measured_parts(paths: Sequence[Path], speakers: Sequence[str], text: str | None) -> Iterator[tuple[TrackPart, str]]:
    """The part that each file is of its speaker, and what is told of it.

    ``text``: the map; None: the ready one whose columns are there.

    Raises ``UnitError``: a file of nobody, one of which no column is known, a column that was asked for and is missing.
    """
    for path in paths:
        owner = same_name(measured_speaker(path), speakers)
        if owner is None:
            raise UnitError(f"{path.name}: belongs to no speaker ({', '.join(speakers)}). Name it after its speaker.")
        header, _ = read_head(path, path.name, KNOWN)
        chosen = recognised(header) if text is None else text
        if chosen is None:
            raise UnitError(
                f"{path.name}: no ready map ({', '.join(READY)}) knows its columns. Say which are what: "
                "-o map=COLUMN:FEATURE,COLUMN:time."
            )
        wanted = parse_map(chosen)
        there = [column.name for column in wanted.columns if column.name in header]
        singly = [column.name for column in wanted.columns if f"{column.name}:{column.feature}" in chosen]
        missing = [name for name in singly if name not in header]
        if missing or not there:
            raise UnitError(
                f"{path.name}: no column {', '.join(map(repr, missing or [c.name for c in wanted.columns]))}. "
                "Correct -o map, or export the file again."
            )
        if all(name not in header for name in wanted.times):
            raise UnitError(
                f"{path.name}: no column of times ({', '.join(wanted.times)}). Say which it is: "
                f"-o map={chosen},COLUMN:time."
            )
        yield TrackPart(owner, "features", path, chosen), f"{path.name} is read as {chosen}: {', '.join(there)}"
