"""The account of an import: what was read, and where all of it went (read = kept + left out, by reason and place).

Readers say what they read, importers what they leave out; what is kept is counted in the tables that were made. So an
importer that loses something, or makes something of nothing, does not add up, and nothing is written.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import pyarrow as pa

from apportion.foundation.errors import UnitError
from apportion.foundation.safe_text import is_seen
from apportion.foundation.truncate import listed, shortened

RECORD, ACCOUNT = "import.json", "account"
"""Says in the corpus folder where it came from, so that the same import may be run again and no other; its account."""
SECONDS = "seconds of media"
RECORDINGS = "recordings"
BECOME: Mapping[str, str] = {
    **dict.fromkeys(("chats", "conversations", "dialogues", "episodes", "folders", "games"), "sessions"),
    **dict.fromkeys(("messages", "cues", "turns", "acts"), "turns"),
    "words": "words",
    **dict.fromkeys(("scores", "labels"), "scores"),
    SECONDS: SECONDS,
    RECORDINGS: RECORDINGS,
}
"""What is read -> what the tables count it as. All else (lines, cells, parts) is kept where an importer says so."""
MOST_PLACES = 3
"""Places that are told of one reason."""
MOST_REASONS, OTHERS = 30, "for other reasons"
"""Reasons of one kind: the names of strangers' parts and columns are reasons, too."""
MOST_TOLD = 8
"""Reasons of one kind that are printed; `RECORD` has them all."""
THEIR_SESSION = "their session is left out"
_ROUNDING_S = 1e-3
_BATCH = 1 << 16


class Made(Protocol):
    """What an import made, as `apportion.corpus.builder.CorpusBuild` has it."""

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """By name."""

    @property
    def files(self) -> Mapping[str, Path]:
        """Recordings by the path in the media table."""


@dataclass
class Cells:
    """The cells of a table: ``rows`` so far, and by place the columns that somebody ``asked`` for."""

    name: str
    header: Sequence[str]
    rows: int = 0
    asked: set[int] = field(default_factory=set)


@dataclass
class _Left:
    many: float = 0
    places: list[str] = field(default_factory=list)

    def add(self, many: float, places: Sequence[str]) -> None:
        self.many += many
        self.places += [place for place in places if place and place not in self.places][
            : MOST_PLACES - len(self.places)
        ]


@dataclass(frozen=True)
class AccountLine:
    """Of one kind: how much was read and kept; ``joined``: kept within another one, by how; ``left_out``: by reason."""

    what: str
    read: float
    joined: Mapping[str, float]
    left_out: Mapping[str, tuple[float, tuple[str, ...]]]

    @property
    def kept(self) -> float:
        """What is in the corpus, by itself or within another one."""
        return self.read - sum(many for many, _ in self.left_out.values())

    def to_json(self) -> dict[str, Any]:
        """The line as plain JSON values."""
        left = self.left_out.items()
        return {
            "read": _plain(self.read),
            "kept": _plain(self.kept),
            "joined": {how: _plain(many) for how, many in self.joined.items()},
            "left_out": {reason: {"many": _plain(many), "places": list(places)} for reason, (many, places) in left},
        }


class Account:
    """Collects while an import reads; `settled` closes it."""

    def __init__(self) -> None:
        self._read: defaultdict[str, float] = defaultdict(float)
        self._kept: defaultdict[str, float] = defaultdict(float)
        self._joined: dict[str, dict[str, float]] = {}
        self._left: dict[str, dict[str, _Left]] = {}
        self._files: dict[Path, float] = {}
        self._tables: list[Cells] = []

    def read(self, what: str, many: float = 1) -> None:
        """So many more of ``what`` were there."""
        self._read[what] += many

    def said(self, what: str, texts: Collection[str]) -> None:
        """So many messages, cues or turns were there, with the words in them."""
        self.read(what, len(texts))
        self.read("words", words_in(texts))

    def kept(self, what: str, many: float = 1) -> None:
        """So many of ``what``, which no table counts (`BECOME`), were used."""
        self._kept[what] += many

    def joined(self, what: str, how: str, many: float = 1) -> None:
        """So many are kept within another row: cues that go on a turn; below 0, more rows were made than read."""
        if many:
            ways = self._joined.setdefault(what, {})
            ways[how] = ways.get(how, 0) + many

    def left_out(self, what: str, reason: str, many: float = 1, place: str = "") -> None:
        """So many of ``what`` are nowhere in the corpus."""
        if many:
            self._leave(what, reason, many, (place,))

    def _leave(self, what: str, reason: str, many: float, places: Sequence[str]) -> None:
        reasons = self._left.setdefault(what, {})
        reason = reason if reason in reasons or len(reasons) < MOST_REASONS else OTHERS
        reasons.setdefault(reason, _Left()).add(many, places)

    def recording(self, path: Path, seconds: float | None) -> None:
        """A recording was looked into; however often, it counts once, and is kept if the corpus names it."""
        self._files[path] = seconds or 0.0

    def unused(self, path: Path, reason: str, place: str = "") -> None:
        """A recording that was looked into, or would have been, is nowhere in the corpus."""
        self.left_out(RECORDINGS, reason, 1, place or path.name)
        self.left_out(SECONDS, reason, self._files.get(path, 0.0), place or path.name)

    def cells(self, name: str, header: Sequence[str]) -> Cells:
        """A table is read: what its reader says of it counts once no more columns can be asked for."""
        self._tables.append(Cells(name, header))
        return self._tables[-1]

    def use(self, name: str, columns: Iterable[str]) -> None:
        """These columns, where they are there, are read of the tables called ``name``."""
        wanted = set(columns)
        for table in self._tables:
            if table.name == name:
                table.asked.update(at for at, column in enumerate(table.header) if column in wanted)

    def _close_tables(self) -> None:
        for table in self._tables:
            self.read("cells", table.rows * len(table.header))
            self.kept("cells", table.rows * len(table.asked))
            for at, column in enumerate(table.header):
                if at not in table.asked:
                    named = f"in column {shortened(column)!r}" if column else "in columns without a name"
                    self.left_out("cells", named, table.rows, Path(table.name).name)
        self._tables.clear()

    def _take(self, other: Account, lost: str | None) -> None:
        """Add what a session has; ``lost``: where it stands, if it is left out."""
        other._close_tables()
        if lost is not None:
            read = other._read_all()
            other = Account()
            for what, many in read.items():
                other.read(what, many)
                other.left_out(what, THEIR_SESSION, many, lost)
        self._files |= other._files
        for what, many in other._read.items():
            self.read(what, many)
        for what, many in other._kept.items():
            self.kept(what, many)
        for what, ways in other._joined.items():
            for how, many in ways.items():
                self.joined(what, how, many)
        for what, reasons in other._left.items():
            for reason, left in reasons.items():
                self._leave(what, reason, left.many, left.places)

    def _read_all(self) -> dict[str, float]:
        read = dict(self._read)
        if self._files:
            read[RECORDINGS] = read.get(RECORDINGS, 0) + len(self._files)
            read[SECONDS] = read.get(SECONDS, 0) + sum(self._files.values())
        return read

    def settled(self, made: Made) -> tuple[AccountLine, ...]:
        """The lines, in the order in which their kinds were first read.

        Raises ``UnitError``: what was read is not what was kept and left out.
        """
        self._close_tables()
        used = set(made.files.values())
        counted = {
            **_counted(made),
            RECORDINGS: sum(path in used for path in self._files),
            SECONDS: sum(seconds for path, seconds in self._files.items() if path in used),
        }
        read = self._read_all()
        for kind in dict.fromkeys(
            (*(BECOME.get(what, what) for what in (*read, *self._left, *self._joined)), *counted)
        ):
            self._check(kind, read, counted.get(kind, self._kept[kind]))
        return tuple(
            AccountLine(
                what,
                many,
                dict(self._joined.get(what, {})),
                {reason: (left.many, tuple(left.places)) for reason, left in self._left.get(what, {}).items()},
            )
            for what, many in read.items()
            if many
        )

    def _check(self, kind: str, reads: Mapping[str, float], there: float) -> None:
        whats = [what for what in {**reads, **self._left, **self._joined} if BECOME.get(what, what) == kind]
        read = sum(reads.get(what, 0) for what in whats)
        left = sum(one.many for what in whats for one in self._left.get(what, {}).values())
        joined = sum(sum(self._joined.get(what, {}).values()) for what in whats)
        if abs(read - left - joined - there) > (_ROUNDING_S if kind == SECONDS else 0):
            raise UnitError(
                f"the account does not add up: {_number(read)} {listed(whats, 4) or kind} read, {_number(left)} left "
                f"out, {_number(joined)} joined, and {_number(there)} {kind} in the corpus. Nothing is written. It is "
                "a fault of this importer: report it with the input. Its author tells `account.current()` what there "
                "is (read, said, recording) and what becomes of it (left_out, joined, kept): docs/guides/extend.md."
            )


_OPEN: ContextVar[Account] = ContextVar("account")


@contextmanager
def opened() -> Iterator[Account]:
    """An account that everything which reads below adds to."""
    token = _OPEN.set(account := Account())
    try:
        yield account
    finally:
        _OPEN.reset(token)


@contextmanager
def session(what: str, place: str, holds: Mapping[str, float] = MappingProxyType({})) -> Iterator[None]:
    """What is read within belongs to one session (one of ``what``, which its reader has counted): where an error ends
    it, it is left out with all of that. So is what it ``holds`` of what was read before, such as rows of a table."""
    outer, inner = current(), Account()
    for kind, many in holds.items():
        outer.read(kind, -many)
        inner.read(kind, many)
    token = _OPEN.set(inner)
    lost: str | None = place
    try:
        yield
        lost = None
    finally:
        _OPEN.reset(token)
        outer._take(inner, lost)
        if lost is not None:
            outer.left_out(what, "broken", place=place)


def current() -> Account:
    """The account that is open; one that nobody looks at where a file is read for something else than an import."""
    return _OPEN.get(None) or Account()


def words_in(texts: Iterable[str | None]) -> int:
    """How many words: pieces between white space. A text in which nothing can be seen has none."""
    return sum(len(text.split()) for text in texts if text and is_seen(text))


def words_of(column: pa.Array | pa.ChunkedArray) -> int:
    """How many words all its texts have; only some of them are in memory at a time."""
    return sum(words_in(column.slice(at, _BATCH).to_pylist()) for at in range(0, len(column), _BATCH))


def _parts(made: Made) -> Iterator[pa.Table]:
    """The utterances, by row group where they are stored."""
    utterances = made.tables["utterances"]
    stored = getattr(utterances, "parts", None)
    return iter([utterances]) if stored is None else (table for _, table in stored())


def _counted(made: Made) -> dict[str, float]:
    rows = {name: table.num_rows for name, table in made.tables.items()}
    return {
        "sessions": rows.get("sessions", 0),
        "turns": rows.get("utterances", 0),
        "words": sum(words_of(part.column("text")) for part in _parts(made)) if rows.get("utterances") else 0,
        "scores": rows.get("ratings", 0) + rows.get("turn_labels", 0),
    }


def account_of(folder: Path) -> tuple[AccountLine, ...]:
    """The account of the import that made a corpus; () where it was made otherwise."""
    try:
        lines = json.loads((folder / RECORD).read_text(encoding="utf-8"))[ACCOUNT]
        return tuple(
            AccountLine(
                what,
                float(line["read"]),
                {how: float(many) for how, many in line["joined"].items()},
                {why: (float(one["many"]), tuple(map(str, one["places"]))) for why, one in line["left_out"].items()},
            )
            for what, line in lines.items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # A simulation's, or edited by hand.
        return ()


def account_lines(lines: Sequence[AccountLine]) -> list[str]:
    """The account as a short table."""
    if not lines:
        return []
    width = max(len(what) for what in (ACCOUNT, *(line.what for line in lines)))
    head = f"{ACCOUNT:<{width}} {'read':>11} {'kept':>11}  left out"
    return [head, *(_row(line, width) for line in lines)]


def _row(line: AccountLine, width: int) -> str:
    reasons = [
        f"{_number(many)} {reason}" + f" ({listed(places, 1)})" * bool(places)
        for reason, (many, places) in line.left_out.items()
    ]
    joined = [
        f"of those kept, {_number(many)} {how}" if many > 0 else f"{_number(-many)} more {how}"
        for how, many in line.joined.items()
    ]
    told = "; ".join([listed(reasons or ["0"], MOST_TOLD, "; ", apart=True), *joined])
    return f"{line.what:<{width}} {_number(line.read):>11} {_number(line.kept):>11}  {told}"


def _number(many: float) -> str:
    return f"{many:,.1f}".removesuffix(".0")


def _plain(many: float) -> float:
    return int(many) if float(many).is_integer() else round(many, 3)
