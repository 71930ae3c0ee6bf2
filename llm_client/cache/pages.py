"""The rows of an SQLite file read page by page, for a file that SQLite itself does not read any more.

Only what https://www.sqlite.org/fileformat2.html calls leaf pages of table b-trees is looked at, wherever they are; the
pages that lead to them may be gone. Which table a row belongs to is not known here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

_MAGIC = b"SQLite format 3\x00"
_WAL_MAGIC = b"\x37\x7f\x06"
_LEAF = 13
_USUAL_SIZE = 4096
_WAL_HEADER, _FRAME_HEADER = 32, 24
_LONGEST_ROW = 256 * 2**20
Read = Callable[[int, int], bytes]
"""``read(offset, length)`` of a file: fewer bytes at its end."""


class Pages:
    """The pages of a file together with those of its write-ahead log, the newest of each.

    ``read``: reads the file. ``size``: its bytes. ``log``: the content of its ``-wal`` file; empty where there is none.
    """

    def __init__(self, read: Read, size: int, log: bytes = b"") -> None:
        self._read = read
        self._page_size = _page_size(read(0, 100), log)
        self._count = -(-size // self._page_size)
        self._newer = dict(_frames(log, self._page_size))

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Every row that can be read: those in the log first, since they are newer."""
        numbers = [*self._newer, *(n for n in range(1, self._count + 1) if n not in self._newer)]
        for number in numbers:
            yield from self._rows_of(number)
        for number in self._newer:
            # What the log's page has in its place was whole once.
            yield from self._rows_of(number, self._old(number))

    def _page(self, number: int) -> bytes:
        return self._newer.get(number) or self._old(number)

    def _old(self, number: int) -> bytes:
        within = 0 < number <= self._count
        return self._read((number - 1) * self._page_size, self._page_size) if within else b""

    def _rows_of(self, number: int, page: bytes | None = None) -> Iterator[tuple[Any, ...]]:
        page = self._page(number) if page is None else page
        head = 100 if number == 1 else 0
        if len(page) < self._page_size or page[head] != _LEAF:
            return
        (cells,) = struct.unpack_from(">H", page, head + 3)
        for cell in range(min(cells, self._page_size // 2)):
            try:
                (offset,) = struct.unpack_from(">H", page, head + 8 + 2 * cell)
                yield _record(self._payload(page, offset))
            except (ValueError, IndexError, struct.error):
                continue  # This row is damaged.

    def _payload(self, page: bytes, offset: int) -> bytes:
        length, offset = _varint(page, offset)
        _, offset = _varint(page, offset)  # The row's number.
        if not 0 < length <= _LONGEST_ROW:
            raise ValueError("no row is so long")
        size = self._page_size
        local, most = length, size - 35
        if length > most:
            least = (size - 12) * 32 // 255 - 23
            local = least + (length - least) % (size - 4)
            local = local if local <= most else least
        parts = [page[offset : offset + local]]
        left = length - local
        following = struct.unpack_from(">I", page, offset + local)[0] if left else 0
        while left:
            overflow = self._page(following)
            (following,) = struct.unpack_from(">I", overflow)
            parts.append(overflow[4 : 4 + left])
            if not parts[-1]:
                raise ValueError("the row goes on in a page that is not there")
            left -= len(parts[-1])
        return b"".join(parts)


def _page_size(head: bytes, log: bytes) -> int:
    size = struct.unpack_from(">H", head, 16)[0] if head.startswith(_MAGIC) and len(head) >= 18 else 0
    if not size and len(log) >= 12:
        size = struct.unpack_from(">I", log, 8)[0]
    size = 65536 if size == 1 else size
    return size if 512 <= size <= 65536 and size & (size - 1) == 0 else _USUAL_SIZE


def _frames(log: bytes, page_size: int) -> Iterator[tuple[int, bytes]]:
    """The pages of the log that were committed, in their order; those of an earlier use of the log left aside."""
    salts = log[16:24] if _is_whole(log[:_WAL_HEADER]) else None
    waiting: list[tuple[int, bytes]] = []
    for start in range(_WAL_HEADER, len(log) - _FRAME_HEADER - page_size + 1, _FRAME_HEADER + page_size):
        number, committed = struct.unpack_from(">II", log, start)
        # A log whose own head is gone is believed as it is.
        if salts is not None and log[start + 8 : start + 16] != salts:
            continue
        page = start + _FRAME_HEADER
        waiting.append((number, log[page : page + page_size]))
        if committed:
            yield from waiting
            waiting = []


def _is_whole(head: bytes) -> bool:
    """Whether the head of a log agrees with its checksum."""
    if len(head) < _WAL_HEADER or not head.startswith(_WAL_MAGIC):
        return False
    words = struct.unpack("<6I" if head[3] & 1 == 0 else ">6I", head[:24])
    first = second = 0
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFF_FFFF
        second = (second + other + first) & 0xFFFF_FFFF
    return struct.unpack(">2I", head[24:]) == (first, second)


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    value = 0
    for position in range(8):
        byte = data[offset + position]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, offset + position + 1
    return value << 8 | data[offset + 8], offset + 9


def _record(payload: bytes) -> tuple[Any, ...]:
    end, offset = _varint(payload, 0)
    values, position = [], end
    while offset < end:
        kind, offset = _varint(payload, offset)
        length = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)[kind] if kind < 10 else (kind - 12) // 2
        if kind in (10, 11) or position + length > len(payload):
            raise ValueError("no row of a table")
        values.append(_value(kind, payload[position : position + length]))
        position += length
    return tuple(values)


def _value(kind: int, raw: bytes) -> Any:
    if kind in (0, 8, 9):
        return {0: None, 8: 0, 9: 1}[kind]
    if kind == 7:
        return struct.unpack(">d", raw)[0]
    if kind < 7:
        return int.from_bytes(raw, "big", signed=True)
    return raw if kind % 2 == 0 else raw.decode("utf-8", "surrogateescape")
