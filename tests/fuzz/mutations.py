"""What damages a source: JSON values, rows of cells, bytes, files, folders."""

import copy
import csv
import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

Files = dict[str, bytes]
"""A source as a mapping from relative paths to contents."""

ODD_NUMBERS: tuple[Any, ...] = (
    0, -1, 1.5, -0.0, 1e308, -1e308, 5e-324, 2**31, 2**63, 2**64, 10**25, 10**400, float("nan"), float("inf"),
    float("-inf"),
)  # fmt: skip
ODD_TEXTS = (
    "", " ", "\0", "a\0b", "\ud800", "\udfff\ud800", "\u202e", "e\u0301", "\ufeff", "\u2028", "\r\n", "\x1b[31m",
    "🤷🏽", "x" * 3000, "../..",
    "/etc/passwd", "a/b", "nan", "inf", "1e999", "true", "null", "N/A", "-1",
    "{}", "[]", "%s", "{0}", "=1+1", "https://example.org/a.mp4", "file:///etc/passwd", "s3://bucket/a.wav",
    "٣", "1_000", "0x10",
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (None, True, False, [], {}, [[]], {"": ""}, ["user"], {"a": 1}, *ODD_NUMBERS, *ODD_TEXTS)


def damage(files: Files, chance: Random) -> Files:
    """A copy of a source with one to three things wrong in it."""
    files = dict(files)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if not files:
            break
        name = chance.choice(sorted(files))
        kind = name.removesuffix(".gz").rpartition(".")[2]
        choices = _BY_KIND.get(kind, ()) if chance.random() < 0.75 else ()
        content = files[name]
        files[name] = _unpacked(content, name, chance.choice(choices or _BYTES), chance)
    if len(files) > 1 and chance.random() < 0.05:
        one, other = chance.sample(sorted(files), 2)
        files[one], files[other] = files[other], files[one]
    return files


def _unpacked(content: bytes, name: str, change: Callable[[bytes, Random], bytes], chance: Random) -> bytes:
    if not name.endswith(".gz") or chance.random() < 0.2:
        return change(content, chance)
    try:
        return gzip.compress(change(gzip.decompress(content), chance), mtime=0)
    except (OSError, EOFError, zlib.error):  # Damaged already.
        return change(content, chance)


def write(files: Mapping[str, bytes], folder: Path, chance: Random) -> None:
    """Write a source; now and then one of its files is something else than a file."""
    other = chance.choice(sorted(files)) if files and chance.random() < 0.06 else None
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == other:
            chance.choice(_INSTEAD)(path)
        else:
            path.write_bytes(content)


_INSTEAD: tuple[Callable[[Path], None], ...] = (
    Path.mkdir,
    os.mkfifo,
    lambda path: path.symlink_to("/etc/hostname"),
    lambda path: path.symlink_to("nowhere"),
    lambda path: path.symlink_to(path.name),
    lambda path: None,
)


def damage_value(value: Any, chance: Random) -> Any:
    """A copy of a JSON value in which one thing somewhere is another, gone, twice, or deep."""
    value = copy.deepcopy(value)
    holders = list(_holders(value))
    if not holders:
        return chance.choice(ODD_VALUES)
    holder = chance.choice(holders)
    keys: Sequence[Any] = list(holder) if isinstance(holder, dict) else range(len(holder))
    key = chance.choice(keys)
    change = chance.randrange(8)
    if change == 0:
        del holder[key]
    elif change == 1 and isinstance(holder, dict):
        holder[chance.choice(ODD_TEXTS)] = holder.pop(key)
    elif change == 1:
        holder.insert(key, copy.deepcopy(holder[key]))
    elif change == 2:
        other = chance.choice(holders)
        holder[key] = copy.deepcopy(other) if other is not holder else None
    elif change == 3:
        depth = chance.choice((3, 90, 300))
        for _ in range(depth):
            holder[key] = [holder[key]] if chance.random() < 0.5 else {"a": holder[key]}
    elif change == 4:
        holder[key] = [holder[key]] * chance.choice((0, 1, 2, 50))
    else:
        holder[key] = chance.choice(ODD_VALUES)
    return value


def _holders(value: Any) -> list[Any]:
    found, waiting = [], [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict | list):
            found += [item] if item else []
            waiting += item.values() if isinstance(item, dict) else item
    return found


def _dumps(value: Any, chance: Random) -> str:
    try:
        return json.dumps(value, ensure_ascii=chance.random() < 0.5)
    except RecursionError:
        return "[" * 5000


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _json(content: bytes, chance: Random) -> bytes:
    try:
        return _encoded(_dumps(damage_value(json.loads(content), chance), chance))
    except (ValueError, RecursionError):
        return _flip(content, chance)


def _json_line(content: bytes, chance: Random) -> bytes:
    lines = content.split(b"\n")
    position = chance.randrange(len(lines))
    try:
        lines[position] = _encoded(_dumps(damage_value(json.loads(lines[position]), chance), chance))
    except (ValueError, RecursionError):
        lines[position] = _flip(lines[position], chance)
    return b"\n".join(lines)


def _digits(content: bytes, chance: Random) -> bytes:
    """One number of the text with many digits."""
    places = [i for i, byte in enumerate(content) if 48 <= byte <= 57]
    if not places:
        return content + b"9" * 5000
    place = chance.choice(places)
    return content[:place] + b"9" * chance.choice((30, 400, 5000)) + content[place + 1 :]


def _cells(content: bytes, chance: Random) -> bytes:
    """One cell of a table another value, or a row or column gone."""
    text = content.decode("utf-8", "replace")
    separator = "\t" if "\t" in text else ","
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=separator))
    except csv.Error:
        return _flip(content, chance)
    rows = [row for row in rows if row]
    if not rows:
        return content
    row = chance.choice(rows)
    change = chance.randrange(5)
    if change == 0:
        row.pop(chance.randrange(len(row)))
    elif change == 1:
        rows.remove(row)
    elif change == 2:
        row.append(row[0])
    else:
        row[chance.randrange(len(row))] = str(chance.choice(ODD_VALUES))
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator=chance.choice(("\n", "\n", "\r\n"))).writerows(rows)
    return _encoded(out.getvalue())


def _text_line(content: bytes, chance: Random) -> bytes:
    lines = content.split(b"\n")
    position = chance.randrange(len(lines))
    change = chance.randrange(4)
    if change == 0:
        del lines[position]
    elif change == 1:
        lines.insert(position, lines[chance.randrange(len(lines))])
    elif change == 2:
        words = lines[position].split(b"\t" if b"\t" in lines[position] else b" ")
        words[chance.randrange(len(words))] = _encoded(str(chance.choice(ODD_VALUES)))
        lines[position] = b" ".join(words)
    else:
        lines[position] = _encoded(str(chance.choice(ODD_VALUES)))
    return b"\n".join(lines)


def _flip(content: bytes, chance: Random) -> bytes:
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 4, 20))):
        if data:
            data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def _insert(content: bytes, chance: Random) -> bytes:
    place = chance.randrange(len(content) + 1)
    piece = chance.choice(
        (b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b'"', b"[" * 5000, b"\xe2\x80\xa8", b"\t", b",\n")
    )
    return content[:place] + piece + content[place:]


def _cut_out(content: bytes, chance: Random) -> bytes:
    one, other = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    return content[:one] + content[other:]


_Change = Callable[[bytes, Random], bytes]
_BYTES: tuple[_Change, ...] = (
    _flip,
    _flip,
    lambda content, chance: content[: chance.randrange(len(content) + 1)],
    _insert,
    lambda content, chance: content.replace(b"\n", chance.choice((b"\r\n", b"\r", b"\n\n"))),
    lambda content, chance: b"",
    lambda content, chance: content.decode("utf-8", "replace").encode("utf-16"),
    lambda content, chance: content * 2,
    _cut_out,
    _digits,
)
_BY_KIND: Mapping[str, tuple[_Change, ...]] = {
    "json": (_json, _json, _json, _digits),
    "jsonl": (_json_line, _json_line, _json_line, _digits),
    **dict.fromkeys(("csv", "tsv"), (_cells, _cells, _digits)),
    **dict.fromkeys(("txt", "vtt", "srt", "textgrid"), (_text_line, _digits)),
}
