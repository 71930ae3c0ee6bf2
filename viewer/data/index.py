"""The index of a run's sessions: one SQLite file that is made once, replaced whole, and never changed."""

from __future__ import annotations

import json
import re
import sqlite3
import tempfile
import unicodedata
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.foundation.cache_dir import cache_folder
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest
from apportion.viewer.data.run_location import RunPlace

VERSION = 6
"""Another number makes every index anew."""
TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE, slug TEXT NOT NULL UNIQUE, split TEXT, source TEXT,
  language TEXT, turns INTEGER NOT NULL, duration_s REAL, speakers TEXT NOT NULL, quarantined INTEGER NOT NULL
);
CREATE TABLE episodes (
  id INTEGER PRIMARY KEY, session INTEGER NOT NULL, rater TEXT, target TEXT, name TEXT, score REAL, low REAL, high REAL,
  targets INTEGER NOT NULL, disagreement REAL, warnings TEXT NOT NULL, alarms INTEGER NOT NULL, place INTEGER NOT NULL
);
CREATE TABLE standings (
  episode INTEGER NOT NULL, method TEXT NOT NULL, total REAL, residual REAL, lowest_turn INTEGER, lowest REAL,
  lowest_text TEXT, spark TEXT NOT NULL, PRIMARY KEY (episode, method)
) WITHOUT ROWID;
CREATE INDEX episodes_of ON episodes (session);
CREATE INDEX ordered ON standings (method, episode, total, residual, lowest);
CREATE TABLE packed (
  session INTEGER NOT NULL, name TEXT NOT NULL, columns BLOB NOT NULL, PRIMARY KEY (session, name)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (name, speakers, said, content='', prefix='1 2',
  tokenize = 'unicode61 remove_diacritics 2');
"""


@dataclass(frozen=True)
class Index:
    """An index file: opened anew for each use, so that a newer one in its place is seen."""

    path: Path

    @contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """A connection that only reads; nothing beside the file is made, so that a read-only folder is enough. Raises
        InputError: the file is gone or damaged.
        """
        try:
            # Percent-encoded by as_uri, so that no name of a folder is read as a parameter. It is never written to.
            opened = sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
            with closing(opened) as connection:
                connection.row_factory = sqlite3.Row
                yield connection
        except sqlite3.Error as error:
            raise InputError(
                f"{self.path}: the index of the sessions cannot be read ({error}). Start the viewer again: it makes "
                "one where the run is still there."
            ) from None

    def fact(self, name: str) -> str | None:
        """What the index says of the run as a whole, None where it does not or is no index."""
        try:
            with self.connect() as connection:
                row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        except InputError:
            return None
        return None if row is None else str(row[0])

    def facts(self) -> dict[str, str]:
        """All that the index says of the run as a whole; raises as `connect` does."""
        with self.connect() as connection:
            return dict(connection.execute("SELECT name, value FROM facts").fetchall())

    def is_whole(self) -> bool:
        """Whether the file has all its tables and no damaged page."""
        try:
            with self.connect() as connection:
                for table in ("facts", "sessions", "episodes", "standings", "packed", "words"):
                    connection.execute(f"SELECT * FROM {table} LIMIT 1").fetchone()
                return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
        except InputError:
            return False

    def is_of(self, fingerprint: str) -> bool:
        """Whether it was made of files in that state by this version."""
        return self.path.is_file() and self.fact("fingerprint") == stamp(fingerprint)


def stamp(fingerprint: str) -> str:
    """A fingerprint with the version of the index's tables."""
    return f"{VERSION}:{fingerprint}"


def index_path(place: RunPlace) -> Path:
    """Where a run's index lies: in the run's folder, or in the cache of this user where that cannot be written to.
    Raises InputError: neither can be written to.
    """
    beside = place.folder / "viewer"
    # A folder that leads elsewhere is not written to: the run may be somebody else's.
    own: tuple[Path, ...] = () if beside.is_symlink() else (beside,)
    for folder in (*own, cache_folder() / "viewer" / digest(str(place.folder))[:24]):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder / "sessions.sqlite"
        except OSError:
            continue
    raise InputError(
        f"{beside}: the index of the sessions can be written neither there nor into {cache_folder()}. Make one of them "
        "writable, or set APPORTION_CACHE to a folder of yours."
    )


def pack(columns: Mapping[str, Sequence[Any]]) -> bytes:
    """Columns of equal length as compressed JSON; NaN and infinities are kept."""
    return zlib.compress(
        json.dumps(dict(columns), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"), 1
    )


def unpack(blob: bytes) -> list[dict[str, Any]]:
    """The rows of a blob of `pack`, each a mapping of column to value."""
    columns: dict[str, list[Any]] = json.loads(zlib.decompress(blob).decode("utf-8", "surrogatepass"))
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
MOST = 80


def slug_of(session_id: str) -> str:
    """A session id as letters, digits, ``-``, ``_`` and ``~``: safe in an address and as a file's name.

    Every other byte of its UTF-8 is ``~`` and two hexadecimal digits; long ids are cut and end in a digest.

    >>> slug_of("s01"), slug_of("../etc")
    ('s01', '~2e~2e~2fetc')
    """
    raw = session_id.encode("utf-8", "surrogatepass")
    slug = "".join(chr(byte) if chr(byte) in _PLAIN else f"~{byte:02x}" for byte in raw) or "~"
    return slug if len(slug) <= MOST else f"{slug[: MOST - 17]}~{digest(raw.hex())[:16]}"


# Thai and Lao, Burmese, Khmer; kana and Han, the rarer signs of Han among them.
_SIGNS = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff])"
)
_MARKS = "[\u0300-\u036f]"
_PART = re.compile(r'(-?)(?:"([^"]*)"?|(\S+))')
_WORD = re.compile(r"\w")
_BETWEEN = re.compile(r"[\W_]+")


def searchable(text: str) -> str:
    """Text as it is indexed: characters of scripts without spaces stand alone, so that parts of them are found.

    >>> searchable("退货 now")
    '退  货  now'
    """
    return _SIGNS.sub(r"\1 ", text).strip() if text.isascii() else _SIGNS.sub(r" \1 ", text).strip()


def query_of(text: str) -> str | None:
    """A query of FTS5 for what a person types, None where nothing of it can be searched for.

    All words have to be there; "words in quotes" as they stand; -word must not be there; the last word may go on.
    Nothing a person types is read as FTS5's own language.

    >>> query_of('refund "not happy" -invoice tra')
    '"refund" "not happy" "tra" * NOT "invoice"'
    >>> query_of("-only") is None
    True
    """
    wanted: list[tuple[str, bool]] = []
    unwanted: list[str] = []
    for minus, quoted, word in _PART.findall(text):
        term = searchable(quoted or word).replace('"', " ").replace("\0", " ")
        if not _WORD.search(term):
            continue
        if minus:
            unwanted.append(f'"{term}"')
        else:
            wanted.append((f'"{term}"', bool(word)))
    if not wanted:
        return None
    last, goes_on = wanted[-1]
    # What is still being typed is found by its beginning.
    terms = [term for term, _ in wanted[:-1]] + [f"{last} *" if goes_on and not text[-1:].isspace() else last]
    return " ".join(terms) + "".join(f" NOT {term}" for term in unwanted)


def pattern_of(text: str) -> re.Pattern[str] | None:
    """What a query looks for in a text (`decomposed`): the beginnings of its words and phrases, in any case, with any
    accents.

    >>> [match[0] for match in pattern_of("table").finditer("Comfortable tables, a Table.")]
    ['table', 'Table']
    """
    parts = ((minus, quoted or word) for minus, quoted, word in _PART.findall(text))
    # As in the index, what is between words does not count: `tables?` is found in "tables", "follow up" by `follow-up`.
    wanted = {tuple(filter(None, _BETWEEN.split(composed(term)))) for minus, term in parts if not minus}
    terms = sorted(filter(None, wanted), key=lambda words: sum(map(len, words)), reverse=True)
    if not terms:
        return None
    # A script without spaces has no beginnings of words; to the index, _ is between words.
    begun = rf"(?<![^\W_])(?<!{_MARKS})"
    phrases = (
        ("" if _SIGNS.match(words[0]) else begun) + _BETWEEN.pattern.join(map(_with_accents, words)) for words in terms
    )
    return re.compile("|".join(phrases), re.IGNORECASE)


def decomposed(text: str) -> str:
    """Text in which an accent is a character of its own, behind its letter."""
    return unicodedata.normalize("NFD", text)


def composed(text: str) -> str:
    """Text in which a letter and its accent are one character, as fonts have them."""
    return unicodedata.normalize("NFC", text)


def _with_accents(term: str) -> str:
    letters = re.sub(_MARKS, "", decomposed(term))
    return "".join(re.escape(letter) + (f"{_MARKS}*" if letter.isalpha() else "") for letter in letters)
