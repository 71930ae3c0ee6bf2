"""Checks of the media table: files that are there, not empty, and inside the corpus; addresses that may be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from apportion.corpus.checks.rows import duplicates, not_numbers, nulls, pairs, unknown_sessions
from apportion.corpus.corpus import Corpus
from apportion.corpus.issue import ValidationIssue
from apportion.corpus.recordings.addresses import address_fault, shown
from apportion.corpus.recordings.channel import ALLOWED, HALVES, parse_sound
from apportion.corpus.recordings.feature_map import READY, parse_map
from apportion.corpus.recordings.mirrored import address_in
from apportion.corpus.schema import MEDIA
from apportion.corpus.session import ENVIRONMENT
from apportion.foundation.errors import UnitError
from apportion.foundation.files import is_address

KINDS = ("audio", "video", "features")


def check_media(corpus: Corpus) -> Iterator[ValidationIssue]:
    """Unknown sessions and speakers, unknown kinds and channels, files that cannot be used."""
    table = corpus.media
    if table.num_rows == 0:
        return
    yield from nulls(table, MEDIA)
    yield from duplicates(table, MEDIA)
    yield from unknown_sessions(table, "media", corpus.sessions)
    yield from not_numbers(table, "media", ["offset_s"])
    people = pairs(corpus.utterances, "session_id", "speaker")
    for column in ("rater", "target"):
        people |= pairs(corpus.ratings, "session_id", column)
    root = corpus.root.resolve()
    for number, row in enumerate(table.to_pylist(), start=1):
        yield from _row_problems(row, number, people, root)


def _row_problems(
    row: dict[str, Any], number: int, people: set[tuple[Any, ...]], root: Path
) -> Iterator[ValidationIssue]:
    id_ = row["session_id"]
    if row["kind"] is not None and row["kind"] not in KINDS:
        hint = "Correct the kind."
        yield ValidationIssue("media", number, "kind", id_, repr(row["kind"]), ", ".join(KINDS), hint)
    channel, mapped = row["channel"], row["kind"] == "features"
    if channel is not None and not (_is_map(channel) if mapped else channel in HALVES or parse_sound(channel)):
        allowed = f"{ALLOWED}, {', '.join(HALVES)} (a half of the picture), or empty"
        allowed = f"{', '.join(READY)}, COLUMN:FEATURE, or empty" if mapped else allowed
        yield ValidationIssue("media", number, "channel", id_, repr(channel), allowed, "Correct the channel.")
    if row["speaker"] == ENVIRONMENT:
        told = f"{ENVIRONMENT!r} is the rater of scores that rules or a judge gave: nobody whom a recording shows"
        allowed, hint = "a speaker of the session", "Correct the name, or remove the row."
        yield ValidationIssue("media", number, "speaker", id_, told, allowed, hint)
    elif (id_, row["speaker"]) not in people:
        told, hint = f"{row['speaker']!r} neither speaks nor rates", "Correct the name in media or in utterances."
        allowed = ", ".join(sorted(str(name) for session, name in people if session == id_)) or "a speaker"
        yield ValidationIssue("media", number, "speaker", id_, told, allowed, hint, "warning")
    fault = None if row["path"] is None else path_fault(row["path"], root)
    if fault is not None:
        name = shown(row["path"]) if is_address(row["path"]) else row["path"]
        allowed = "a file inside the corpus folder, or an address"
        yield ValidationIssue("media", number, "path", id_, f"{name!r} {fault[0]}", allowed, fault[1])


def _is_map(text: str) -> bool:
    try:
        parse_map(text)
    except UnitError:
        return False
    return True


def path_fault(path: str, root: Path) -> tuple[str, str] | None:
    """What is wrong with a media path and what to do, or None; ``root`` is the resolved corpus folder."""
    path = address_in(root, path)
    if is_address(path):
        return address_fault(path)  # Whether it is there is asked once it is read: looking costs time, and money.
    try:
        full = (root / path).resolve()
        if Path(path).is_absolute() or not full.is_relative_to(root):
            return "leaves the corpus folder", "Copy or hard-link the file into the corpus and give its relative path."
        if full.is_symlink():  # From Python 3.13 on, resolving leaves links in a circle as they are.
            return "cannot be looked at (its links go round in a circle)", "Correct the path."
        if full.exists() and not full.is_file():
            return "is no file", "Name the recording itself, not a folder or a pipe."
        if not full.is_file():
            return "does not exist", "Add the file, or remove the row."
        if full.stat().st_size == 0:
            return "has zero bytes", "Copy or export the recording again."
    except (OSError, ValueError, RuntimeError) as error:  # The last: links in a circle.
        return f"cannot be looked at ({error})", "Correct the path."
    return None
