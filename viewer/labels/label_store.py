"""Labels beside a run: a file that is only ever appended to, by several people and processes at once."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from apportion.corpus.files.textfile import check_regular
from apportion.foundation.errors import InputError
from apportion.foundation.files import canonical_json, check_path, sync
from apportion.viewer.labels.label import Label, LabelKey, Question, check_annotator, label_of, question_of, seen_of

SUFFIX = ".labels.jsonl"


def overlay_beside(run: Path) -> Path:
    """Where a run's labels are kept: beside its folder, since a run can be made again and labels cannot.

    >>> str(overlay_beside(Path("/data/runs/demo")))
    '/data/runs/demo.labels.jsonl'
    """
    run = run.absolute()
    return run.with_name(run.name + SUFFIX)


@dataclass(frozen=True, eq=False)
class Labels:
    """What an overlay holds: every label that stands, what took back those that do not, the questions by name,
    who has seen the methods' rewards of which session (session_id, annotator), the lines that could not be read, and
    how many lines there are: of two readings the one with more is the later.

    A line is left unfinished where a process was killed while it wrote it; nobody was told that it is saved.
    """

    standing: Mapping[LabelKey, Label]
    taken_back: Mapping[LabelKey, Label]
    questions: Mapping[str, Question]
    seen: frozenset[tuple[str, str]]
    unfinished: tuple[int, ...]
    lines: int


@dataclass
class _Read:
    """What has been read of the file, and how far."""

    inode: int = -1
    end: int = 0
    lines: int = 0
    standing: dict[LabelKey, Label] = field(default_factory=dict)
    taken_back: dict[LabelKey, Label] = field(default_factory=dict)
    questions: dict[str, Question] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)
    unfinished: list[int] = field(default_factory=list)


class Overlay:
    """Labels in the file ``path``, which may not be there yet; safe between threads and between processes.

    A label is on the disk when `add` returns: killed at any moment after that, it is not lost.
    """

    def __init__(self, path: Path) -> None:
        check_path(path)
        check_regular(path)
        if path.is_dir():
            raise InputError(f"{path}: a folder, and labels are kept in a file. Name a file in it.")
        self.path = path
        self._read = _Read()
        self._lock = threading.Lock()

    def labels(self) -> Labels:
        """What it holds now; nothing where there is no file yet. Raises InputError: the file cannot be read, or holds a
        line that is no label (file and line).
        """
        with self._lock:
            try:
                with self.path.open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_SH)
                    self._catch_up(file.fileno())
            except FileNotFoundError:
                self._read = _Read()
            except OSError as error:
                raise InputError(f"{self.path}: cannot be read ({error.strerror}). Check its owner and mode.") from None
            read = self._read
            return Labels(
                dict(read.standing), dict(read.taken_back), dict(read.questions), frozenset(read.seen),
                tuple(read.unfinished), read.lines,
            )  # fmt: skip

    def ask(self, question: Question) -> None:
        """Keep a question, so that all annotators answer on one scale; one that is there already stays. Raises
        InputError: another question of that name is there; the file cannot be written.
        """
        with self._appending() as descriptor:
            there = self._read.questions.get(question.name)
            if there is None:
                self._append(descriptor, {"kind": "question", **question.to_json()})
            elif there != question:
                scale = f"{there.asks!r} from {there.low:g} to {there.high:g} by {there.step:g}"
                raise InputError(
                    f"labels called {question.name!r} answer {scale} already. Answer that, or choose another name."
                )

    def see(self, session_id: str, annotator: str) -> None:
        """Keep that somebody has the methods' rewards of a session in sight: no later label of theirs there is blind.
        Raises InputError: a name that no annotator can have; the file cannot be written.
        """
        check_annotator(annotator)
        with self._appending() as descriptor:
            if (session_id, annotator) not in self._read.seen:
                self._append(descriptor, {"kind": "seen", "session_id": session_id, "annotator": annotator})

    def add(self, *labels: Label) -> None:
        """Keep labels; when this returns they are on the disk. Raises InputError: a question that is not in the file,
        or has another scale; the file cannot be written.
        """
        with self._appending() as descriptor:
            for label in labels:
                question = self._read.questions.get(label.name)
                if question is None or (question.low, question.high) != (label.low, label.high):
                    scale = f"{label.low:g} to {label.high:g}"
                    raise InputError(f"{self.path}: it asks nothing called {label.name!r} on a scale from {scale}.")
                if label.value is not None:
                    question.checked(label.value)
            self._append(descriptor, *({"kind": "label", **label.to_json()} for label in labels))

    @contextmanager
    def _appending(self) -> Iterator[int]:
        """The file, locked, with all that others have written read."""
        with self._lock, self._opened() as descriptor:
            yield descriptor

    @contextmanager
    def _opened(self) -> Iterator[int]:
        new = not self.path.exists()
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if new:
                sync(self.path.parent)  # Its name is as much of a label as what it holds.
            self._catch_up(descriptor)
            yield descriptor
        except OSError as error:
            raise self._unwritable(error) from None
        finally:
            os.close(descriptor)

    def _append(self, descriptor: int, *rows: Mapping[str, Any]) -> None:
        """Write a line each and wait until they are on the disk; where that fails the file is as before."""
        size = os.fstat(descriptor).st_size
        # What a killed process left unfinished gets a line of its own.
        begun = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        text = "".join(f"{canonical_json(row)}\n" for row in rows)
        line = (b"\n" if begun else b"") + text.encode()
        try:
            written = 0
            while written < len(line):
                written += os.write(descriptor, line[written:])
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
        self._catch_up(descriptor)

    def _catch_up(self, descriptor: int) -> None:
        """Read what has been appended since the last time; everything where it is another file."""
        status = os.fstat(descriptor)
        read = self._read
        if status.st_ino != read.inode or status.st_size < read.end:
            read = _Read(inode=status.st_ino)
        data = os.pread(descriptor, status.st_size - read.end, read.end)
        if data:  # A copy: what breaks off at a line that is none is read again from where it began.
            standing, taken_back = dict(read.standing), dict(read.taken_back)
            questions, unfinished = dict(read.questions), list(read.unfinished)
            read = replace(
                read, standing=standing, taken_back=taken_back, questions=questions, seen=set(read.seen),
                unfinished=unfinished,
            )  # fmt: skip
        whole, _, rest = data.rpartition(b"\n")
        for line in whole.split(b"\n") if whole or data.startswith(b"\n") else ():
            read.lines += 1
            self._take(read, line)
        read.end += len(data) - len(rest)
        self._read = read

    def _take(self, read: _Read, line: bytes) -> None:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            read.unfinished.append(read.lines)
            return
        try:
            kind = row.get("kind") if isinstance(row, dict) else None
            if kind == "label":
                label = label_of(row)
                kept, other = read.standing, read.taken_back
                if label.value is None:
                    kept, other = other, kept
                kept[label.key] = label
                other.pop(label.key, None)
            elif kind == "question":
                question = question_of(row)
                read.questions.setdefault(question.name, question)
            elif kind == "seen":
                read.seen.add(seen_of(row))
            else:
                raise InputError("neither a label nor a question nor who has seen rewards")
        except InputError as error:
            raise InputError(
                f"{self.path}, line {read.lines}: not as the viewer writes it ({error}). Correct or remove that line."
            ) from None

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(f"{self.path}: labels cannot be written ({error.strerror}). Name another file for them.")
