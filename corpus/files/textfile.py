"""Reading text files that other people made: plain or gzip, UTF-8 only, capped, with errors that say where."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from apportion.corpus.files.jsontext import JsonError, kind_of, parse
from apportion.foundation.errors import InputError

BOM = "\ufeff"
GZIP_MAGIC = b"\x1f\x8b"
ARCHIVES = {
    b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz",
    b"7z\xbc\xaf": "7z", GZIP_MAGIC: "second gzip",
}  # fmt: skip
"""How files begin that hold another one and are not unpacked here."""
MOST_BYTES = 512 << 20
"""Of one file, unpacked."""
MOST_LINE = 128 << 20
"""Bytes of one line: a whole JSON document may stand on one, and no reader works with a larger one."""
MOST_RATIO, FREE_BYTES = 100, 16 << 20
"""Bytes unpacked for one that is packed, once more than ``FREE_BYTES`` came out: conversations reach a tenth of it."""
BYTES_A_PART, FREE_PARTS = 8, 1_000_000
"""Bytes for each line, object and list of a file, once there are more than ``FREE_PARTS``: empty ones fill a memory."""
_PIECE = 1 << 20


def read_bytes(path: Path, most_packed: int = MOST_BYTES) -> bytes:
    """The content of a file, decompressed where it is gzip (told by its first bytes, not by its name).

    It is read and decompressed piece by piece, so that a file that is too large takes no memory.

    ``most_packed``: bytes that a gzip may hold. Raises ``InputError``: the file is missing, a folder, a pipe or a
    device, not readable, a damaged gzip file, or larger than that, ``MOST_BYTES``, ``MOST_LINE``, ``MOST_RATIO`` or
    ``BYTES_A_PART`` allow.
    """
    check_regular(path)
    try:
        with path.open("rb") as file:
            _check_size(path, path.stat().st_size)
            packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            file.seek(0)
            return _unpacked(path, file, most_packed) if packed else b"".join(_checked(path, file))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file. Check the path.") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; name a file in it.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). Check its owner and mode.") from None


def _unpacked(path: Path, file: IO[bytes], most: int) -> bytes:
    def pieces() -> Iterator[bytes]:
        done = 0
        with gzip.GzipFile(fileobj=file) as unpacked:
            for piece in _checked(path, unpacked):
                done += len(piece)
                if done > most:
                    raise InputError(
                        f"{path}: gzip of more than {most >> 20:,} MiB. Unpack it, or split it into several files."
                    )
                if done > max(FREE_BYTES, MOST_RATIO * file.tell()):
                    raise InputError(
                        f"{path}: gzip that unpacks to more than {MOST_RATIO} times its size ({file.tell():,} bytes "
                        f"hold more than {done:,}). No conversations do; unpack it and look what it holds."
                    )
                yield piece

    try:
        return b"".join(pieces())
    except (EOFError, OSError, zlib.error) as error:
        raise InputError(f"{path}: damaged or truncated gzip file ({error}). Download or copy it again.") from None


def _checked(path: Path, file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    """A file's pieces; an InputError once they, or one line in them, are too many."""
    done = line = parts = 0
    while piece := file.read(_PIECE):
        done += len(piece)
        parts += sum(map(piece.count, (b"\n", b"{", b"[")))
        _check_size(path, done)
        if parts > max(FREE_PARTS, done // BYTES_A_PART):
            raise InputError(
                f"{path}: {parts:,} lines, lists and objects in its first {done:,} bytes. No conversations lie so "
                "close; look what it holds."
            )
        ended = piece.rfind(b"\n")
        line = line + len(piece) if ended < 0 else len(piece) - ended - 1
        if line > MOST_LINE:
            raise InputError(
                f"{path}: a line of more than {MOST_LINE >> 20:,} MiB, from byte {done - line:,} on; that is the most "
                "that is read. Write one conversation a line (JSON Lines)."
            )
        yield piece


def _check_size(path: Path, size: int) -> None:
    if size > MOST_BYTES:
        raise InputError(
            f"{path}: more than {MOST_BYTES >> 20:,} MiB, the most that is read from one file, unpacked. "
            "Split it into several files, and name their folder."
        )


def check_regular(path: Path) -> None:
    """Refuse a pipe, a socket or a device: a pipe would be waited for, for ever where nobody writes into it.

    Raises ``InputError``: it is one; What is missing, a folder or a file is none.
    """
    if os.path.exists(path) and not (path.is_file() or path.is_dir()):  # noqa: PTH110  (a name may be too long to ask)
        raise InputError(f"{path}: a pipe or a device, and only files are read. Write its content to a file.")


def not_a_file(path: Path) -> str:
    """What ``path``, which is no file, is instead, for messages."""
    if path.is_dir():
        return "a folder"
    return "a link that leads nowhere" if path.is_symlink() else "a pipe or a device"


def read_text(path: Path, *, allow_empty: bool = False, most_packed: int = MOST_BYTES) -> str:
    """The UTF-8 text of a plain or gzip file, without a byte order mark; ``most_packed`` is that of `read_bytes`.

    Raises ``InputError``: as `read_bytes`; a file of zero bytes (unless ``allow_empty``); an archive; bytes that are
    not UTF-8, with file, line and byte offset.
    """
    data = read_bytes(path, most_packed)
    if not data and not allow_empty:
        raise InputError(f"{path}: the file has zero bytes. Copy or export it again.")
    archive = next((kind for magic, kind in ARCHIVES.items() if data.startswith(magic)), None)
    if archive is not None:
        raise InputError(f"{path}: a {archive} archive, and only plain files and gzip are read. Unpack it first.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}: not UTF-8 at line {line}, byte offset {error.start} (byte 0x{data[error.start]:02x}). "
            "Save the file as UTF-8."
        ) from None
    return text.removeprefix(BOM)


def read_json(path: Path) -> Any:
    """The value of a JSON file.

    Raises ``InputError``: as `read_text`, and where the text is not JSON (file, line and column).
    """
    return parse_json(read_text(path), path)


def parse_json(text: str, path: Path) -> Any:
    """The value of a JSON text that was read from ``path``; an InputError names file, line and column."""
    try:
        return parse(text)
    except JsonError as fault:
        if not fault.line:
            raise InputError(f"{path}: JSON that is {fault}. Flatten it.") from None
        raise InputError(
            f"{path}, line {fault.line}, column {fault.column}: not valid JSON ({fault}). Correct that line."
        ) from None


@dataclass(frozen=True)
class BrokenLine:
    """A line of a JSON Lines file that holds no object: its number in the file, its text, and what is wrong with it."""

    line: int
    text: str
    message: str


def read_jsonl(path: Path, *, allow_empty: bool = False) -> list[tuple[int, dict[str, Any]]]:
    """(line number from 1, object) of every line of a JSON Lines file; blank lines are passed over.

    For files of our own, where a line that is broken is no stranger's: characters stay as they are.

    Raises ``InputError``: as `read_text`, and for a line that is not a JSON object (file and line).
    """
    rows = []
    for number, value in parse_lines(read_text(path, allow_empty=allow_empty), mend=False):
        if isinstance(value, BrokenLine):
            raise InputError(f"{path}, line {number}: {value.message}")
        rows.append((number, value))
    return rows


def parse_lines(text: str, *, mend: bool = True) -> Iterator[tuple[int, dict[str, Any] | BrokenLine]]:
    """(line number from 1, object) of every line of JSON Lines that is not blank; a line that holds none is told.

    ``mend`` is that of `jsontext.parse`.
    """
    # Split at "\n" alone: JSON strings may hold the other line separators that str.splitlines knows.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, _object(number, line, mend)


def _object(number: int, line: str, mend: bool) -> dict[str, Any] | BrokenLine:
    try:
        value = parse(line, mend=mend)
    except JsonError as fault:
        return BrokenLine(number, line, f"not valid JSON ({fault.reason}). Correct that line.")
    if not isinstance(value, dict):
        return BrokenLine(number, line, f"a JSON object {{…}} is needed, got {kind_of(value)}.")
    return value
