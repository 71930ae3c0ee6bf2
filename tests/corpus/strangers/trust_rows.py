"""Inputs that are packed, cut short, or hold far more than their size says."""

import bz2
import gzip
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.corpus import Corpus
from tests.corpus.strangers.row import Row

SAID = ("user", "Which way to the sea?"), ("assistant", "Down the hill, then left.")
CHAT = {"messages": [{"role": role, "content": text} for role, text in SAID]}
LINE = json.dumps(CHAT).encode() + b"\n"
CUES = "speaker,start,end,text\nalice,0,1,hello\nbob,1,2,good day\n"
DEEP = 200_000
SCALE = "-o", "low=1", "-o", "high=5"


def chat(name: str, content: bytes, sparse: int = 0) -> Callable[[Path], list[str]]:
    """A log of chats; ``sparse`` bytes long where that is more than what is in it."""

    def write(folder: Path) -> list[str]:
        written(folder / name, content, sparse)
        return ["chat", str(folder / name)]

    return write


def written(path: Path, content: bytes, sparse: int = 0) -> None:
    path.write_bytes(content)
    if sparse:
        with path.open("r+b") as file:
            file.truncate(sparse)


def in_folder(kind: str, name: str, content: bytes, sparse: int = 0, *more: tuple[str, str]):
    """A folder of ``name`` and ``more`` files."""

    def write(folder: Path) -> list[str]:
        for place, text in ((name, None), *more):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            if text is not None:
                (folder / place).write_text(text, encoding="utf-8")
        written(folder / name, content, sparse)
        return [kind, str(folder)]

    return write


def parquet(rows: int, cut: int = 0) -> Callable[[Path], list[str]]:
    """SODA's columns, every row the same."""

    def write(folder: Path) -> list[str]:
        path = folder / "soda.parquet"
        words = pa.DictionaryArray.from_arrays(pa.array(bytes(rows), pa.int8()), pa.array(["hello"]))
        lists = pa.ListArray.from_arrays(pa.array(np.arange(0, rows + 1, 2, dtype=np.int32)), words)
        pq.write_table(pa.table({"dialogue": lists, "speakers": lists}), path, compression="zstd")
        written(path, path.read_bytes()[: -cut or None])
        return ["soda", str(path)]

    return write


def long_words(folder: Path) -> list[str]:
    """A table of turns, every one the same megabyte, which a dictionary keeps once."""
    path, rows = folder / "turns.parquet", 20_000
    words = pa.DictionaryArray.from_arrays(pa.array(bytes(rows), pa.int8()), pa.array(["hello " * 170_000]))
    table = pa.table({"chat": [f"c{row // 2}" for row in range(rows)], "role": ["user", "bot"] * (rows // 2)})
    pq.write_table(table.append_column("text", words), path, compression="zstd", store_schema=False)
    return ["chat", str(path)]


def zipped(folder: Path) -> list[str]:
    with zipfile.ZipFile(folder / "chats.jsonl", "w") as archive:
        archive.writestr("chats.jsonl", LINE)
    return ["chat", str(folder / "chats.jsonl")]


def picture(width: int) -> bytes:
    """A PNG of ``width`` times ``width`` pixels in some hundred bytes: its rows are not there."""
    head = struct.pack(">IIBBBBB", width, width, 8, 2, 0, 0, 0)
    parts = (b"IHDR", head), (b"IDAT", zlib.compress(bytes(1 << 16))), (b"IEND", b"")
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def sessions(count: int) -> Callable[[Corpus], bool]:
    """So many chats, each with what was said in it."""

    def holds(corpus: Corpus) -> bool:
        texts = corpus.utterances["text"].to_pylist()
        return len(corpus.session_ids()) == count and texts == [text for _, text in SAID] * count

    return holds


PACKED, LARGE, DAMAGED = "packed file", "oversized file", "damaged file"
ROWS = [
    Row(PACKED, "gzip of two members, one a day", "recovered", chat("a.jsonl.gz", gzip.compress(LINE) * 2),
        holds=sessions(2)),
    Row(PACKED, "gzip without .gz in its name", "recovered", chat("a.jsonl", gzip.compress(LINE)), holds=sessions(1)),
    Row(PACKED, ".gz in its name and plain", "recovered", chat("a.jsonl.gz", LINE), holds=sessions(1)),
    Row(PACKED, "gzip with a tape's zeros after it", "recovered", chat("a.gz", gzip.compress(LINE) + bytes(512)),
        holds=sessions(1)),
    Row(PACKED, "gzip in gzip", "refused", chat("a.gz", gzip.compress(gzip.compress(LINE))), "Unpack it first"),
    Row(PACKED, "a zip that is called .jsonl", "refused", zipped, "a zip archive.* unpack it"),
    Row(PACKED, "bzip2", "refused", chat("a.jsonl.bz2", bz2.compress(LINE)), "a bzip2 archive"),
    Row(PACKED, "xz", "refused", chat("a.jsonl.xz", lzma.compress(LINE)), "a xz archive"),
    Row(PACKED, "zstd", "refused", chat("a.jsonl.zst", b"\x28\xb5\x2f\xfd\x04\x00\x01\x00\x00"), "a zstd archive"),
    Row(PACKED, "gzip of nothing", "refused", chat("a.jsonl.gz", gzip.compress(b"")), "zero bytes"),
    Row(LARGE, "gzip of 20 MiB of one chat", "refused",
        chat("a.jsonl.gz", gzip.compress(LINE * (20 << 13))), "unpacks to more than 100 times"),
    Row(LARGE, "gzip of a list of 6 million empty objects", "refused",
        in_folder("esconv", "ESConv.jsonl.gz", gzip.compress(b"[" + b"{}," * (6 << 20))), "lists and objects in its"),
    Row(LARGE, "a sparse log of 20 GB", "refused", chat("a.jsonl", LINE, 20 << 30), "more than 512 MiB"),
    Row(LARGE, "a line of 200 MB", "refused", chat("a.jsonl", LINE, 200 << 20), "a line of more than 128 MiB"),
    Row(LARGE, "ConvoKit's utterances of 20 GB", "refused",
        in_folder("convokit", "utterances.jsonl", b"{}\n", 20 << 30, ("speakers.json", "{}"),
                  ("conversations.json", "{}"), ("corpus.json", "{}")), "more than 512 MiB"),
    Row(LARGE, "a transcript of 20 GB beside a whole one", "told",
        in_folder("media", "s1/transcript.csv", b"speaker", 20 << 30, ("s2/transcript.csv", CUES)),
        "left out: session s1: .* more than 512 MiB"),
    Row(LARGE, "Parquet of a million equal rows", "refused", parquet(2_100_000), "1,050,000 rows in"),
    Row(LARGE, "Parquet of one megabyte 20,000 times", "refused", long_words, "bytes unpacked from"),
    Row(LARGE, "a picture of 60,000 x 60,000 as film", "refused",
        in_folder("media", "s1/alice.mp4", picture(60_000), 0, ("s1/transcript.csv", CUES)),
        "cannot be opened as a recording"),
    Row(LARGE, f"JSON {DEEP:,} lists deep", "refused", chat("a.json", b"[" * DEEP + b"]" * DEEP), "nested too deeply"),
    Row(LARGE, f"a line {DEEP:,} objects deep among whole ones", "told",
        chat("a.jsonl", LINE + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"\n" + LINE), "left out: .*line 2.*too deeply",
        sessions(2)),
    Row(LARGE, "a score of 5,000 digits", "told",
        lambda folder: [*chat("a.jsonl", LINE + LINE[:-2] + b', "score": ' + b"9" * 5000 + b"}\n")(folder), *SCALE],
        "left out: .*line 2.*a finite number is needed", sessions(1)),
    Row(DAMAGED, "gzip that was cut off", "refused", chat("a.gz", gzip.compress(LINE * 99)[:-20]), "truncated gzip"),
    Row(DAMAGED, "gzip with a page of a server after it", "refused",
        chat("a.jsonl.gz", gzip.compress(LINE) + b"<html>504 Gateway Timeout</html>"), "damaged or truncated gzip"),
    Row(DAMAGED, "Parquet that was cut off", "refused", parquet(4, cut=9), "not a readable Parquet file"),
]  # fmt: skip
