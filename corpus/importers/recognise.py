"""What a file or a folder is: the importer that reads it, by names and by how its first bytes look."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.corpus import SCHEMAS
from apportion.corpus.files.tablefile import FORMATS
from apportion.corpus.importers.candor.folders import MARKS, UUID
from apportion.corpus.importers.chats.sources import FOREIGN, JSON, SAVED_DATASET, TRACE_FOLDERS
from apportion.corpus.importers.chats.tables import ARROW_TABLES, TEXT_TABLES
from apportion.corpus.importers.media import PREFERRED, RATINGS_TABLES
from apportion.corpus.importers.reading.sources import COMPRESSED
from apportion.corpus.importers.reading.transcripts import CAPTIONS
from apportion.corpus.recordings.container import SUFFIXES
from apportion.foundation.errors import InputError

CORPUS = "corpus"
DATA = (*JSON, *TEXT_TABLES, *ARROW_TABLES, ".txt")
FIRST_BYTES = 1 << 16
READ = (
    "apportion reads chats (JSON, JSON Lines, CSV, TSV, Parquet, Arrow; OpenAI, ShareGPT, traces of Langfuse, "
    "LangSmith and OpenTelemetry), a folder of recordings with transcripts, and corpora: CANDOR, USS, ConTurE, "
    "ESConv, ConvoKit, SODA, SOTOPIA, CaSiNo, Deal or No Deal"
)


@dataclass(frozen=True)
class Recognised:
    """The importer's name (`CORPUS`: it is a corpus already), and what it is in words."""

    kind: str
    words: str


def _keys(*names: str) -> Callable[[str], bool]:
    patterns = [re.compile(rf'"{name}"\s*:') for name in names]
    return lambda head: head.lstrip()[:1] in ("{", "[") and all(pattern.search(head) for pattern in patterns)


CONTENT: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "sotopia": ("episodes of SOTOPIA", _keys("social_interactions")),
    "casino": ("CaSiNo", _keys("chat_logs", "participant_info")),
    "conture": ("ConTurE", _keys("dialog_id", "turns", "chatbot")),
    "esconv": ("ESConv", lambda head: _keys("dialog", "emotion_type")(head) or _keys("dialog", "strategy")(head)),
    "soda": ("SODA", _keys("dialogue", "speakers")),
    "uss": ("USS", lambda head: re.search(r"^(USER|SYSTEM)\t", head, re.MULTILINE) is not None),
    "dealornodeal": ("Deal or No Deal", lambda head: "<selection>" in head.partition("\n")[0]),
}
"""By importer: the words, and how the beginning of a file looks (of a Parquet file: its columns)."""
SHAPES = (("messages", "chats in OpenAI's shape"), ("conversations", "chats in ShareGPT's shape"))


def recognise(src: Path) -> Recognised:
    """Which importer reads ``src``; whether it can, the importer says.

    Raises ``InputError``: there is nothing, or nothing that is known.
    """
    if not src.exists():
        raise InputError(f"{src}: no such file or folder. Check the path.")
    found = _folder(src) if src.is_dir() else _file(src)
    if found is not None:
        return found
    empty = src.is_dir() and not any(src.iterdir())
    what = "the folder is empty" if empty else "nothing that is read is in it" if src.is_dir() else "not recognised"
    raise InputError(f"{src}: {what}. {READ}. Name one of these; `apportion import --help` lists them.")


def _folder(src: Path) -> Recognised | None:
    inside = sorted(path for path in src.iterdir() if not path.name.startswith("."))
    names = {path.name for path in inside}
    folders = [path for path in inside if path.is_dir()]
    if any(f"sessions.{ending}" in names for ending in FORMATS):
        known = {f"{table}.{ending}" for table in SCHEMAS for ending in FORMATS} & names
        return Recognised(CORPUS, f"a corpus of apportion ({len(known)} tables)")
    if names & {"utterances.jsonl", "utterances.json"} and names & {"conversations.json", "speakers.json"}:
        return Recognised("convokit", "a ConvoKit corpus")
    if _is_candor(inside, folders):
        return Recognised("candor", "CANDOR")
    if any((src / name).is_file() for name in SAVED_DATASET) or names & set(TRACE_FOLDERS):
        return Recognised("chat", "a saved data set, or the export of a tool")
    if any(map(_is_session, folders)) or (folders and names & set(RATINGS_TABLES)):
        return Recognised("media", "a folder of recorded sessions")
    if any(path.suffix.lower() in (*SUFFIXES, *CAPTIONS) for path in inside):
        return Recognised("media", "one recorded session")
    files = [path for path in inside if path.is_file() and path.name.lower().removesuffix(COMPRESSED).endswith(DATA)]
    kinds = {found.kind: found for path in files if (found := _file(path)) is not None}
    return next((kinds[kind] for kind in (*CONTENT, "chat") if kind in kinds), None)


def _is_candor(inside: list[Path], folders: list[Path]) -> bool:
    if any(re.fullmatch(r"transcript_\w+\.[ct]sv", path.name) for path in inside):
        return True
    return any(
        (folder / MARKS[0]).is_dir()
        or (folder / MARKS[2]).is_file()
        or any(UUID.fullmatch(below.name) for below in [folder, *(folder.iterdir() if folder.name == "raw" else ())])
        for folder in folders
    )


def _is_session(folder: Path) -> bool:
    endings = (*SUFFIXES, *CAPTIONS, ".textgrid")
    return any(path.suffix.lower() in endings or path.stem.lower() == PREFERRED for path in folder.iterdir())


def _file(path: Path) -> Recognised | None:
    name = path.name.lower().removesuffix(COMPRESSED)
    start = _start(path)
    if path.suffix.lower() in (*SUFFIXES, *CAPTIONS):
        return Recognised("media", "a recording or a transcript alone")
    if name.endswith(".parquet") or start.startswith(b"PAR1"):
        return _by_content(_columns(path)) or Recognised("chat", "a Parquet table of chats")
    head = start.decode("utf-8-sig", errors="replace")
    known = _by_content(head)
    if known is not None:
        return known
    if name.endswith((*TEXT_TABLES, *ARROW_TABLES)):
        return Recognised("chat", "a table of chats")
    if name.endswith(JSON) or head.lstrip()[:1] in ("{", "["):
        shape = next((words for key, words in SHAPES if _keys(key)(head)), "chats, or traces of calls")
        return Recognised("chat", shape)
    foreign = next((what for magic, what in FOREIGN.items() if start.startswith(magic)), None)
    if foreign is not None:
        raise InputError(f"{path}: {foreign}.")
    return None


def _by_content(head: str) -> Recognised | None:
    return next((Recognised(kind, words) for kind, (words, looks) in CONTENT.items() if looks(head)), None)


def _columns(path: Path) -> str:
    """The columns of a Parquet file as JSON has keys; nothing where it cannot be read, which its reader says."""
    try:
        return "{" + "".join(f'"{name}":' for name in pq.read_schema(path.absolute()).names)
    except (OSError, pa.ArrowException):
        return ""


def _start(path: Path) -> bytes:
    if not path.is_file():  # A pipe, say: whoever reads it says so.
        return b""
    try:
        with path.open("rb") as file:
            begins = file.read(FIRST_BYTES)
        if begins.startswith(b"\x1f\x8b"):
            with gzip.open(path) as unpacked:
                return unpacked.read(FIRST_BYTES)
    except (OSError, EOFError, zlib.error):
        return b""
    return begins
