"""Tables of chats, as CSV, TSV, Parquet or Arrow: a row a turn, or a row a chat with its messages as JSON in a cell."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from apportion.corpus import account
from apportion.corpus.files import csvfile
from apportion.corpus.files.jsontext import JsonError, parse
from apportion.corpus.files.tablefile import check_unpacked, unpacked_bytes
from apportion.corpus.importers.chats.keys import IDS, LISTS, KeyFinder, Keys, all_differ, find
from apportion.corpus.importers.chats.messages import WHAT, WHO
from apportion.corpus.importers.chats.scales import is_blank
from apportion.corpus.importers.reading.json_items import Item
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import counted, listed

TEXT_TABLES = (".csv", ".tsv")
ARROW_TABLES = (".parquet", ".arrow")
MOST_ROWS = 2_000_000
MOST_OF_A_CELL = 1 << 20
"""Letters of a Python list that are read: reading one takes a hundred times its size."""
_ROUNDED = re.compile(r"\d[.,]\d+E\+\d\d", re.IGNORECASE)
_MOST_WHOLE = 1 << 53
"""From here on, a float is not any whole number that there is."""
MOST_BYTES = 1 << 29
"""How much a Parquet or Arrow file may hold: a small file can hold many times its own size."""
NUMBERED = (
    *("turn", "turn_id", "turn_index", "turn_number", "message_index", "index", "position", "seq", "sequence", "order"),
    "step",
)
ORDER = (*NUMBERED, "timestamp", "ts", "created_at", "sent_at", "datetime", "time", "date")
TEXTS = ("content", "text", "message", "utterance", "body", "utterance_text", "message_text", *WHAT)
SPEAKERS_COLUMNS = (*WHO, "speaker_role", "sender_type", "author_role", "participant")
OF_CHATS = ("score", "low", "high", "language", "lang")
ROWS = "rows"


@dataclass(frozen=True)
class _Row:
    """One row: where it is, and its cells by column."""

    place: str
    cells: Mapping[str, Any]


def read_rows(path: Path) -> list[Item]:
    """The rows of a table. Raises ``InputError``: it cannot be read, or a row has not the cells of the header."""
    if path.name.lower().removesuffix(".gz").endswith(TEXT_TABLES):
        try:
            table = csvfile.read_table(path, str(path))
            lines = list(table.rows)
            marks = [_decimal_mark(lines, at, table.delimiter) for at in range(len(table.header))]
            for _, row in lines:
                row[:] = [
                    cell.replace(",", ".") if mark == "," else cell for cell, mark in zip(row, marks, strict=True)
                ]
            unsure = frozenset(name for name, mark in zip(table.header, marks, strict=True) if not mark)
            return [
                Item(f"line {line}", dict(zip(table.header, row, strict=True)), "", None, unsure) for line, row in lines
            ]
        except UnitError as error:
            raise InputError(str(error)) from None
    return [Item(f"row {number}", row) for number, row in enumerate(_arrow_rows(path), start=1)]


def _decimal_mark(lines: list[tuple[int, list[str]]], at: int, delimiter: str) -> str:
    """What stands before the decimals of a column that holds figures alone; "" where nobody knows."""
    cells = [row[at] for _, row in lines if not is_blank(row[at])]
    mark = csvfile.decimal_mark(cells, delimiter)
    return mark if all(csvfile.parsed(cell, mark or ".") is not None for cell in cells) else "."


def _check_figures(path: Path, items: Sequence[Item], column: str | None) -> None:
    """Refuse a figure of ``column`` that may be read in two ways. Raises ``InputError``: by its line."""
    for item in items:
        if column in item.unsure and "." in (cell := str(item.found[column])):
            raise InputError(f"{path}, {item.place}, column {column}: {cell!r}. {csvfile.UNSURE}")


def _arrow_rows(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    cells: account.Cells | None = None
    held = 0
    try:
        with pa.OSFile(str(path)) as file:
            for batch in _batches(file, path):
                batch.validate(full=True)
                names = batch.schema.names
                if len(set(names)) < len(names):
                    twice = next(name for name in names if names.count(name) > 1)
                    raise InputError(f"{path}: column {twice!r} is there twice. Keep one.")
                cells = cells or account.current().cells(str(path), names)
                cells.rows += batch.num_rows
                held += sum(map(unpacked_bytes, batch.columns))
                if len(rows) + batch.num_rows > MOST_ROWS or held > MOST_BYTES:
                    raise InputError(
                        f"{path}: more than {MOST_ROWS:,} rows or {MOST_BYTES >> 20} MiB. Split it into several files."
                    )
                rows += [
                    {key: float(value) if isinstance(value, Decimal) else value for key, value in row.items()}
                    for row in batch.to_pylist()
                ]
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        cause = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(f"{path}: not a readable table ({cause}). Write it again.") from None
    return rows


def _batches(file: Any, path: Path) -> Iterator[pa.RecordBatch]:
    magic = file.read(6)
    file.seek(0)
    if magic.startswith(b"PAR1"):
        parquet = check_unpacked(file, path)
        if parquet.metadata.num_rows > MOST_ROWS:
            raise ValueError(f"{parquet.metadata.num_rows:,} rows, more than {MOST_ROWS:,}; split it")
        yield from parquet.iter_batches(batch_size=4096)
    elif magic == b"ARROW1":
        opened = pa.ipc.open_file(file)
        yield from map(opened.get_batch, range(opened.num_record_batches))
    else:
        yield from pa.ipc.open_stream(file)


def are_turns(finder: KeyFinder) -> bool:
    """Whether the objects of a file are turns one by one, as the rows of a table are."""
    if finder.options.get("messages") or finder.named("messages", LISTS) or finder.lists():
        return False
    return None not in (finder.named("speaker", SPEAKERS_COLUMNS), finder.named("text", TEXTS, _are_words))


def chats_of(path: Path, items: list[Item], finder: KeyFinder, score: str | None) -> tuple[list[Item], Keys]:
    """The rows of a table as chats with our own keys; ``score`` is the column of scores.

    Raises ``InputError``: columns that are needed are not there, or whose chat a row belongs to is not said.
    """
    _check_figures(path, items, score)
    rows = [_Row(item.place, item.found) for item in items if not item.fault]
    broken = [replace(item, holds={ROWS: 1}) for item in items if item.fault]
    account.current().read(ROWS, len(items))
    lists = finder.named("messages", LISTS, are_lists)
    if lists is not None:
        id_ = finder.named("id", IDS, all_differ)
        keys = Keys({"messages": lists, **some(id=id_)})
        _use(path, [*keys.of.values(), score])
        return [_chat_of_row(row, lists, id_, score) for row in rows], keys
    keys = Keys(turn_keys(finder))
    id_, speaker, text = keys.of["id"], keys.of["speaker"], keys.of["text"]
    order = finder.named("order", ORDER)
    _check_figures(path, items, order)
    by_chat: dict[str, list[_Row]] = {}
    for row in rows:
        if is_blank(find(row.cells, id_)):
            raise InputError(f"{path}, {row.place}, column {id_}: empty, so nobody knows whose turn it is. Fill it in.")
        name = _cell(find(row.cells, id_))
        is_cut = isinstance(found := find(row.cells, id_), float) and abs(found) >= _MOST_WHOLE
        if is_cut or _ROUNDED.fullmatch(name):
            raise InputError(
                f"{path}, {row.place}, column {id_}: {name} is a number that a spreadsheet or pandas has cut, so that "
                "several chats may have one id. Export it again with that column as text."
            )
        by_chat.setdefault(name, []).append(row)
    _use(path, [text, speaker, id_, order, score])
    turns = _Turns(speaker, text, order)
    chats = [turns.chat(name, of_chat, score) for name, of_chat in by_chat.items()] + broken
    if order is not None:
        keys.of["order"] = order
    keys.notes += turns.notes()
    return chats, keys


def turn_keys(finder: KeyFinder) -> dict[str, str]:
    """The columns of a table of turns; raises as `chats_of`."""
    text = finder.need("text", "what was said", finder.named("text", TEXTS, _are_words))
    speaker = finder.need("speaker", "who said it", finder.named("speaker", SPEAKERS_COLUMNS))
    return {"id": finder.grouping(IDS, "which chat a row belongs to"), "speaker": speaker, "text": text}


def _use(path: Path, keys: Sequence[str | None]) -> None:
    """Say in the account which columns are read."""
    read = [key for key in keys if key]
    account.current().use(str(path), [*read, *(key.partition(".")[0] for key in read), *OF_CHATS[1:]])


class _Turns:
    """Puts the rows of a chat together, in their order."""

    def __init__(self, speaker: str, text: str, order: str | None) -> None:
        self.speaker, self.text, self.order = speaker, text, order
        self.sorted: list[str] = []
        self.unordered: list[str] = []
        self.twice = f"repeat another of the same {order!r}, speaker and text"

    def chat(self, name: str, rows: list[_Row], score: str | None) -> Item:
        """The chat ``name``, with its one score."""
        place = rows[0].place if len(rows) == 1 else f"{rows[0].place} to {rows[-1].place.partition(' ')[2]}"
        scores = [] if score is None else [v for row in rows if not is_blank(v := find(row.cells, score))]
        holds = {ROWS: len(rows), "scores": len(scores)}
        once, twice = self._once(self._in_order(name, rows))
        if twice:
            account.current().left_out(ROWS, self.twice, len(twice), place)
            holds[ROWS] -= len(twice)
        said = [{"role": find(row.cells, self.speaker), "content": _text(find(row.cells, self.text))} for row in once]
        chat: dict[str, Any] = {"id": name, "messages": said}
        for what in OF_CHATS:
            key = score if what == "score" else what
            found = {} if key is None else {_cell(v): v for row in rows if not is_blank(v := find(row.cells, key))}
            if len(found) > 1:
                values = listed(list(found), 4)
                fault = f"its rows hold several values of {key!r}: {values}. One a chat is needed."
                return Item(place, {"id": name, "messages": said}, fault, holds)
            chat[what] = _plain(next(iter(found.values()), None))
        return Item(place, chat, holds=holds)

    def _in_order(self, name: str, rows: list[_Row]) -> list[_Row]:
        if self.order is None:
            return rows
        when = [moment(find(row.cells, self.order)) for row in rows]
        if None in when:
            self.unordered.append(name)
            return rows
        order = sorted(range(len(rows)), key=lambda i: when[i] or 0.0)
        if order != list(range(len(rows))):
            self.sorted.append(name)
        return [rows[i] for i in order]

    def _once(self, rows: list[_Row]) -> tuple[list[_Row], list[_Row]]:
        """The rows, and those that repeat one: a join of tables repeats whole turns."""
        if self.order not in NUMBERED:  # At one moment, the same may be said twice.
            return rows, []
        columns = (self.order, self.speaker, self.text)
        once: dict[tuple[str, ...], _Row] = {}
        twice = []
        for row in rows:
            if once.setdefault(tuple(_cell(find(row.cells, column)) for column in columns), row) is not row:
                twice.append(row)
        return list(once.values()), twice

    def notes(self) -> list[str]:
        notes = []
        if self.sorted:
            notes.append(f"rows sorted by {self.order!r}: in {counted(self.sorted, 'chat')}")
        if self.unordered:
            many = counted(self.unordered, "chat")
            notes.append(f"{self.order!r} says no order, so the rows stay in that of the file: in {many}")
        return notes


def _chat_of_row(row: _Row, lists: str, id_: str | None, score: str | None) -> Item:
    cell = find(row.cells, lists)
    holds = {ROWS: 1}
    if score is not None and not is_blank(find(row.cells, score)):
        holds["scores"] = 1
    try:
        messages = written_list(cell) if isinstance(cell, str) else cell
    except UnitError as error:
        return Item(row.place, {}, f"column {lists}: {error}", holds)
    chat = {"messages": messages, "id": None if id_ is None else _cell(find(row.cells, id_))}
    for what in OF_CHATS:
        key = score if what == "score" else what
        chat[what] = None if key is None or is_blank(found := find(row.cells, key)) else _plain(found)
    return Item(row.place, chat, holds=holds)


def written_list(cell: str) -> Any:
    """The value of a JSON text, or of a list as Python writes it: so pandas does in a CSV file.

    Raises ``UnitError``: it is neither.
    """
    try:
        return parse(cell)
    except JsonError as fault:
        try:
            return parse(json.dumps(ast.literal_eval(cell.strip()[:MOST_OF_A_CELL])))
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            raise UnitError(f"not valid JSON ({fault.reason}). Correct that cell.") from None


def _are_words(values: list[Any]) -> bool:
    """Whether the values are what people say: a column "message" or "value" may hold numbers."""
    return sum(isinstance(value, str) and moment(value) is None for value in values) * 2 > len(values)


def are_lists(values: list[Any]) -> bool:
    """Whether the values are lists, or look like lists that are written down."""
    return bool(values) and all(isinstance(v, list) or (isinstance(v, str) and v.lstrip()[:1] == "[") for v in values)


def moment(value: Any) -> float | None:
    """The number of a turn, or a moment, as a number to sort by; None where it is neither."""
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, date):
        return float(value.toordinal())
    try:
        number = float(value)
    except (TypeError, ValueError):
        pass
    else:
        return number if math.isfinite(number) else None
    try:
        return datetime.fromisoformat(str(value).strip()).timestamp()
    except (ValueError, OverflowError):
        return None


def _cell(value: Any) -> str:
    """A cell as text: 3.0, which pandas makes of 3 where a column has gaps, is 3."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def _text(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        return None
    return value if value is None or isinstance(value, str | list | dict) else _cell(value)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def some(**found: str | None) -> dict[str, str]:
    """What was found."""
    return {what: key for what, key in found.items() if key is not None}
