"""Reading text files that other people made: plain or gzip, UTF-8 only, with errors that say where."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from foundation.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
BOM = "\ufeff"


def read_bytes(path: Path) -> bytes:
    """The content of a file, decompressed where it is gzip (told by its first bytes, not by its name).

    Raises
    ------
    InputError
        The file is missing, a folder, not readable, or a damaged gzip file.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file. Check the path.") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; name a file in it.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). Check its owner and mode.") from None
    if not data.startswith(GZIP_MAGIC):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        raise InputError(f"{path}: damaged or truncated gzip file ({error}). Download or copy it again.") from None


def read_text(path: Path, *, allow_empty: bool = False) -> str:
    """The UTF-8 text of a plain or gzip file, without a byte order mark.

    Raises
    ------
    InputError
        As `read_bytes`; a file of zero bytes (unless ``allow_empty``); bytes that are not UTF-8, with file, line
        and byte offset.
    """
    data = read_bytes(path)
    if not data and not allow_empty:
        raise InputError(f"{path}: the file has zero bytes. Copy or export it again.")
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

    Raises
    ------
    InputError
        As `read_text`, and where the text is not JSON (file, line and column).
    """
    return parse_json(read_text(path), path)


def parse_json(text: str, path: Path) -> Any:
    """The value of a JSON text that was read from ``path``; an InputError names file, line and column."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}, line {error.lineno}, column {error.colno}: not valid JSON ({error.msg}). Correct that line."
        ) from None
    except RecursionError:
        raise InputError(f"{path}: JSON nested too deeply to read. Flatten it.") from None


def read_jsonl(path: Path, *, allow_empty: bool = False) -> list[tuple[int, dict[str, Any]]]:
    """(line number from 1, object) of every line of a JSON Lines file; blank lines are passed over.

    Raises
    ------
    InputError
        As `read_text`, and for a line that is not a JSON object (file and line).
    """
    rows: list[tuple[int, dict[str, Any]]] = []
    # Split at "\n" alone: JSON strings may hold the other line separators that str.splitlines knows.
    for number, line in enumerate(read_text(path, allow_empty=allow_empty).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            reason = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else "too deep"
            raise InputError(f"{path}, line {number}: not valid JSON ({reason}). Correct that line.") from None
        if not isinstance(value, dict):
            raise InputError(f"{path}, line {number}: a JSON object {{…}} is needed, got {_kind(value)}.")
        rows.append((number, value))
    return rows


def _kind(value: Any) -> str:
    names = {list: "a list", str: "a string", bool: "true/false", type(None): "null"}
    return names.get(type(value), "a number")
