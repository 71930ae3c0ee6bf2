"""Placing a corpus that was made (imported, simulated) in its folder, and saying what came of it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from apportion.corpus.account import ACCOUNT, RECORD, AccountLine, account_lines
from apportion.corpus.builder import CorpusBuild, SkippedSession
from apportion.corpus.corpus import SCHEMAS, Corpus
from apportion.corpus.files.stored_rows import StoredRows
from apportion.corpus.files.tablefile import FORMATS, sort_rows
from apportion.corpus.recordings.mirrored import Mirror, named
from apportion.corpus.recordings.told import NOTHING, REPORT, Told, look
from apportion.corpus.speakers.settled import Speaker, speaker_lines
from apportion.corpus.validate import ValidationIssue, validate
from apportion.foundation.errors import InputError
from apportion.foundation.files import is_temporary, remove_leftovers, temporary_name, write_atomically
from apportion.foundation.truncate import listed, shortened, some


class OtherCorpusError(InputError):
    """The folder holds something else, such as a corpus that was made by other options."""


@dataclass(frozen=True)
class ImportReport:
    """What an import brought: rows by table, notes, sessions left out, faults and warnings of the new corpus.

    ``recordings``: who is recorded how, and what was chosen of them.
    """

    kind: str
    out: Path
    rows: Mapping[str, int]
    notes: tuple[str, ...]
    left_out: tuple[SkippedSession, ...]
    problems: tuple[ValidationIssue, ...]
    warnings: tuple[str, ...]
    speakers: tuple[Speaker, ...] = ()
    recordings: Told = NOTHING
    account: tuple[AccountLine, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return {
            "kind": self.kind,
            "corpus": str(self.out),
            "rows": dict(self.rows),
            "notes": list(self.notes),
            "left_out": [{"session_id": item.session_id, "message": item.message} for item in self.left_out],
            "problems": [str(problem) for problem in self.problems],
            "warnings": list(self.warnings),
            **({"speakers": [asdict(one) for one in self.speakers]} if self.speakers else {}),
            "recordings": self.recordings.to_json(),
            **({"account": {line.what: line.to_json() for line in self.account}} if self.account else {}),
        }

    def __str__(self) -> str:
        counts = ", ".join(f"{many:,} {name.replace('_', ' ')}" for name, many in self.rows.items() if many)
        where = f"all are in {self.out / REPORT}"
        who = speaker_lines(self.speakers, where) if self.speakers else []
        lines = [f"{self.out}: {counts}", *account_lines(self.account), *who]
        lines += [f"note: {note}" for note in self.notes]
        lines += some("recorded", list(map(str, self.recordings.people)), where=where)
        lines += some("chosen", self.recordings.chosen, where=where)
        for what, found in (("left out", self.left_out), ("problem", self.problems)):
            lines += some(what, list(map(str, found)), where=where) if found else []
        lines += some("warning", self.recordings.warnings, where=where)
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])


def check_free(out: Path, record: Mapping[str, Any], src: Path | None = None) -> None:
    """Refuse a folder that holds something else than what ``record`` makes; ``src`` may lie in it.

    Raises ``InputError``: the folder is in use.
    """
    if not out.is_dir():
        return
    changed = ""
    if (out / RECORD).is_file() and ((out / RECORD).stat().st_size or _has_tables(out)):
        with suppress(ValueError, AttributeError, TypeError):
            before = json.loads((out / RECORD).read_text(encoding="utf-8"))
            if {key: value for key, value in before.items() if key != ACCOUNT} == record:
                return
            changed = f" ({listed(_changed(before, record))})"
    elif _is_unused(out) or (src is not None and _inside(src, out) and not _has_tables(out)):
        return
    raise OtherCorpusError(
        f"{out}: the folder is not empty and does not come from this import or simulation{changed}. "
        "Name another folder, or ask to overwrite its tables."
    )


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """By what else a corpus was made, in words."""
    old, new = ({**record, **record.get("options", {}), "options": ""} for record in (before, now))
    keys = [key for key in sorted({*old, *new} - {ACCOUNT}) if old.get(key) != new.get(key)]
    said = [[shortened(str(one.get(key, "none"))) for one in (old, new)] for key in keys]
    return [f"{key}: {then} before, {told} now" for key, (then, told) in zip(keys, said, strict=True)]


def options_before(out: Path, src: Path) -> dict[str, str] | None:
    """The options by which an import from ``src`` made the corpus in ``out``; None where none did."""
    try:
        record = json.loads((out / RECORD).read_text(encoding="utf-8"))
        same = record["source"] == source_of(src)
        return {str(key): str(value) for key, value in record["options"].items()} if same else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def source_of(src: Path) -> str:
    """What a record calls the source: its URL, or its whole path."""
    return named(src) if isinstance(src, Mirror) else os.path.realpath(src)


@contextmanager
def folder_for(out: Path) -> Iterator[None]:
    """Make the folder of a corpus; where it was not there before and nothing came into it, it goes again.

    Raises ``InputError``: it cannot be made.
    """
    made = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(out, error) from None
    try:
        yield
    finally:
        if made and not any(out.iterdir()):
            out.rmdir()


def claim(out: Path, record: Mapping[str, Any]) -> None:
    """Say in the folder ``out``, which is there, what will be made in it: killed before that, the same may go on there.

    Raises ``InputError``: the folder cannot be written.
    """
    try:
        write_atomically(out / RECORD, json.dumps(record, indent=1) + "\n")
    except OSError as error:
        raise _unwritable(out, error) from None


def place(
    kind: str, out: Path, made: CorpusBuild, record: Mapping[str, Any], account: tuple[AccountLine, ...] = ()
) -> ImportReport:
    """Write a corpus that was made, and what came of it; `check_free` first.

    ``kind``: what made it. ``out``: its folder; recordings are hard-linked (copied where that cannot be) into ``media``
    there, or named where they are if they lie in it already. ``made``: its tables. ``record``: where it comes from, as
    JSON: the same may be made there again, and nothing else. ``account``: what was read, and where it
    went. Raises ``InputError``: the folder cannot be written.
    """
    stored = isinstance(made.tables["utterances"], StoredRows)
    tables = {
        name: table if stored and name == "utterances" else sort_rows(table, SCHEMAS[name])
        for name, table in made.tables.items()
    }
    try:
        if not stored:  # Its own rows lie there; what others have left is gone since they were begun.
            remove_leftovers(out)
        claim(out, record)
        if made.files:
            tables["media"] = _bring(made.files, tables["media"], out)
    except OSError as error:
        raise _unwritable(out, error) from None
    corpus = Corpus.of(out, tables)
    corpus.write(out)
    report = replace(_report(kind, out, corpus, made), account=account)
    try:
        if account:
            claim(out, {**record, ACCOUNT: {line.what: line.to_json() for line in account}})
        text = json.dumps(report.to_json(), indent=1, sort_keys=True, ensure_ascii=False)
        write_atomically(out / REPORT, text + "\n")
    except OSError as error:
        raise _unwritable(out, error) from None
    return report


def _unwritable(out: Path, error: OSError) -> InputError:
    return InputError(
        f"{out}: cannot be written ({error.strerror or error}). Free some space or name a folder you may write to, "
        "and import again."
    )


def _is_unused(out: Path) -> bool:
    """Whether nothing lies there but what an import of ours left behind when it was stopped."""
    return all(path.name == RECORD or is_temporary(path) for path in out.iterdir())


def _inside(src: Path, out: Path) -> bool:
    return Path(os.path.realpath(src)).is_relative_to(os.path.realpath(out))


def _has_tables(out: Path) -> bool:
    return any((out / f"{name}.{kind}").exists() for name in SCHEMAS for kind in FORMATS)


def _bring(files: Mapping[str, Path], media: pa.Table, out: Path) -> pa.Table:
    """Put the recordings where the media table can name them; returns the table with their final paths."""
    root = out.resolve()
    paths = {}
    for name, file in files.items():
        place = file.resolve()
        if place.is_relative_to(root):
            paths[name] = place.relative_to(root).as_posix()
        else:
            paths[name] = name
            link_or_copy(place, root / name)
    named = [paths[path] for path in media.column("path").to_pylist()]
    return media.set_column(media.schema.get_field_index("path"), media.schema.field("path"), pa.array(named))


def link_or_copy(file: Path, place: Path) -> None:
    """Let ``place`` name the file, too: by a hard link, by a copy where that cannot be; OSError where neither can."""
    if place.exists() and place.samefile(file):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(place.parent)
    temporary = temporary_name(place)
    try:
        try:
            os.link(file, temporary)
        except OSError:  # Another disk, or a file system without links.
            shutil.copyfile(file, temporary)
        temporary.replace(place)
    finally:
        temporary.unlink(missing_ok=True)


def _report(kind: str, out: Path, corpus: Corpus, made: CorpusBuild) -> ImportReport:
    problems = validate(corpus)
    return ImportReport(
        kind,
        out,
        {name: table.num_rows for name, table in corpus.tables.items()},
        made.notes,
        made.left_out,
        tuple(problem for problem in problems if problem.severity == "error"),
        tuple(str(problem) for problem in problems if problem.severity == "warning"),
        made.speakers,
        look(corpus, made.chosen) if made.files else NOTHING,
    )
