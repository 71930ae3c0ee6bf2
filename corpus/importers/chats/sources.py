"""The chats of a file or a folder, whatever it is: JSON in one of many shapes, a table, or the traces of a tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from apportion.corpus import account
from apportion.corpus.files.jsontext import JsonError, parse
from apportion.corpus.files.textfile import read_text
from apportion.corpus.importers.chats.tables import ARROW_TABLES, TEXT_TABLES, read_rows
from apportion.corpus.importers.reading.json_items import Item, json_items
from apportion.corpus.importers.reading.sources import COMPRESSED, source_files
from apportion.foundation.errors import InputError
from apportion.foundation.truncate import shortened

JSON = (".jsonl", ".json", ".ndjson")
TRACE_FOLDERS = ("observations_v2", "observations", "traces", "scores", "runs", "feedback")
"""Folders into which tools export, below the one that is named."""
FOREIGN = {
    b"PK\x03\x04": "a spreadsheet or a zip archive. Save the sheet as CSV, or unpack it",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet. Save the sheet as CSV",
    b"%PDF": "a PDF. Export the chats as JSON or CSV",
    b"WEBVTT": "a transcript. `apportion import media` reads it, in a folder of its session",
    b"SQLite": "a database. Export the table as CSV",
    b"\x80\x04": "a pickle, which may run anything and is never opened. Write it with to_json or to_parquet",
    b"\x80\x05": "a pickle, which may run anything and is never opened. Write it with to_json or to_parquet",
}
SAVED_DATASET = ("state.json", "dataset_dict.json")
"""Beside the Arrow files of a data set that `datasets` saved; its splits are folders below."""
LISTS_OF_CHATS = (
    *("data", "chats", "conversations", "sessions", "dialogues"),
    *("items", "records", "rows", "results", "train"),
)


def chat_files(src: Path) -> list[Path]:
    """``src``, or the files in it and in the folders into which tools export.

    Raises ``InputError``: it is missing, or no file in it is one of chats.
    """
    if src.is_dir():
        below = [folder for folder in sorted(src.iterdir()) if folder.is_dir() and folder.name in TRACE_FOLDERS]
        files = [path for folder in below for path in sorted(folder.rglob("*")) if _is_data(path)]
        if files:
            return files
        if any((src / name).is_file() for name in SAVED_DATASET):
            return sorted(src.glob("**/data-*.arrow")) or source_files(src, ARROW_TABLES)
    return source_files(src, (*JSON[:2], *TEXT_TABLES, *ARROW_TABLES, JSON[2]))


def read_items(path: Path) -> tuple[list[Item], bool]:
    """The objects or rows of a file, and whether it is a table.

    Raises ``InputError``: it cannot be read, or is of a kind that is not read.
    """
    begins = _begins(path)
    foreign = next((what for magic, what in FOREIGN.items() if begins.startswith(magic)), None)
    if foreign:
        raise InputError(f"{path}: {foreign}.")
    name = path.name.lower().removesuffix(COMPRESSED)
    if name.endswith((*TEXT_TABLES, *ARROW_TABLES)) or begins[:4] == b"PAR1":
        return read_rows(path), True
    items = list(map(_unbranched, json_items(path, None)))
    if items and all(item.fault for item in items):
        return _one_document(path) or items, False
    if len(items) == 1:
        return _inner_list(items[0]), False
    return items, False


def _unbranched(item: Item) -> Item:
    """A chat of ChatGPT's export, whose messages are a tree, with those on the way to the one that was shown last."""
    tree, node = item.found.get("mapping"), item.found.get("current_node")
    if not isinstance(tree, dict):
        return item
    others, messages = dict(tree), list[Any]()
    while isinstance(node, str) and isinstance(entry := others.pop(node, None), dict):
        messages += [entry["message"]] if entry.get("message") else []
        node = entry.get("parent")
    many = sum(isinstance(entry, dict) and bool(entry.get("message")) for entry in others.values())
    account.current().read("messages", many)
    account.current().left_out("messages", "in other versions of an edited chat", many, item.place)
    found = {key: value for key, value in item.found.items() if key not in ("mapping", "current_node")}
    return replace(item, found={**found, "messages": messages[::-1]}) if messages else item


def _one_document(path: Path) -> list[Item]:
    """The chats of a JSON document that is spread over lines; none where it is no such document."""
    text = read_text(path)
    try:
        value = parse(text)
    except JsonError:
        return []
    return _inner_list(Item("line 1", value)) if isinstance(value, dict) else []


def _inner_list(item: Item) -> list[Item]:
    """The chats that one object holds as a list, or the object itself."""
    columns = list(item.found.values())
    if columns and all(isinstance(column, dict) and column.keys() == columns[0].keys() for column in columns):
        # What pandas writes by default: a column a key, in it the rows by their number.
        rows = [{key: column[row] for key, column in item.found.items()} for row in columns[0]]
        if rows and all(row.isdecimal() for row in columns[0]):
            return [Item(f"row {number}", row) for number, row in enumerate(rows, start=1)]
    lists = {key: values for key, values in item.found.items() if isinstance(values, list) and values}
    lists = {key: values for key, values in lists.items() if all(map(_is_chat, values))}
    key = next((key for key in LISTS_OF_CHATS if key in lists), None)
    if key is None:
        return [item]
    for other in lists.keys() - {key}:
        account.current().read("chats", len(lists[other]))
        account.current().left_out("chats", f"in other lists than {key!r}", len(lists[other]), shortened(other))
    return [Item(f"item {number} of {key!r}", value) for number, value in enumerate(lists[key], start=1)]


def _is_chat(value: Any) -> bool:
    """Whether an object is more than a message: it holds lists or objects of its own."""
    return (
        isinstance(value, Mapping)
        and not {"role", "from"} & set(value)
        and any(isinstance(inner, list | Mapping) or key in ("input", "traceId") for key, inner in value.items())
    )


def _is_data(path: Path) -> bool:
    """Whether a file of an export holds anything: of an hour without calls, an empty one is written."""
    return (
        path.is_file()
        and path.stat().st_size > 0
        and path.name.lower().removesuffix(COMPRESSED).endswith((*JSON, *TEXT_TABLES, *ARROW_TABLES))
    )


def _begins(path: Path) -> bytes:
    if not path.is_file():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(8)
    except OSError:
        return b""  # Whoever reads it says why it cannot be.
