"""Small inputs that would fill a machine: each writes itself in a folder and gives the arguments of `apportion`."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.corpus.strangers.trust_rows import CUES, DEEP, LINE, chat, in_folder, picture, written

Write = Callable[[Path], list[str]]
MIB, GB, ROWS = 1 << 20, 10**9, 50_000_000
OUT = "corpus"
HELLO = b'{"messages": [{"role": "user", "content": "'


def importing(write: Write) -> Write:
    """``write`` gives the arguments of `apportion import` but for the corpus."""
    return lambda folder: ["import", *write(folder), str(folder / "out")]


def packed(name: str, block: bytes, kind: str = "chat", before: bytes = b"") -> Write:
    """A gzip of 3 GiB: ``block``, of 8 MiB, again and again."""

    def write(folder: Path) -> list[str]:
        (folder / name).write_bytes(gzip.compress(before) + gzip.compress(block) * (3 * 128))
        return [kind, str(folder / name)]

    return importing(write)


def repeated(line: bytes) -> bytes:
    return line * (8 * MIB // len(line))


def noisy_chats() -> bytes:
    """Lines that pack to a thirtieth, as chats that resemble each other may."""
    chance = Random(0)
    lines = (LINE.replace(b"sea", b"%06x" % chance.randrange(1 << 24)) for _ in range(8 * MIB // len(LINE)))
    return b"".join(lines)


def long_line(kind: str, name: str, begin: bytes) -> Write:
    """A line of 1 GB of letters."""

    def write(folder: Path) -> list[str]:
        (folder / name).parent.mkdir(exist_ok=True)
        with (folder / name).open("wb") as file:
            file.write(begin)
            for _ in range(1_000):
                file.write(b"a" * (GB // 1_000))
        return [kind, str(folder / name) if kind == "chat" else str(folder)]

    return importing(write)


def table(path: Path, **columns: pa.DataType) -> None:
    """A Parquet file of 50 million rows, all of them the same."""
    with pq.ParquetWriter(path, schema := pa.schema(list(columns.items())), compression="zstd") as out:
        made = {name: _column(kind) for name, kind in columns.items()}
        part = pa.table(made, schema=schema)
        for _ in range(50):
            out.write_table(part)


def _column(kind: pa.DataType) -> pa.Array:
    rows = ROWS // 50
    if pa.types.is_list(kind):
        said = pa.array(["hello"] * 2).dictionary_encode().take(pa.array(np.zeros(2 * rows, np.int8)))
        return pa.ListArray.from_arrays(np.arange(0, 2 * rows + 1, 2, dtype=np.int32), said.cast(pa.string()))
    return pa.repeat(pa.scalar("x" if kind == pa.string() else 1, kind), rows)


def parquet(kind: str, **columns: pa.DataType) -> Write:
    def write(folder: Path) -> list[str]:
        table(folder / f"{kind}.parquet", **columns)
        return [kind, str(folder / f"{kind}.parquet")]

    return importing(write)


def corpus_of_rows(folder: Path) -> list[str]:
    texts = {name: pa.string() for name in ("session_id", "speaker", "text", "source", "language")}
    for name in ("sessions", "utterances"):
        table(folder / f"{name}.parquet", **texts, turn=pa.int32(), duration_s=pa.float64())
    return ["inspect", str(folder)]


def sparse_settings(folder: Path) -> list[str]:
    written(folder / "run.toml", b'corpus = "c"\n', 20 << 30)
    return ["run", str(folder / "run.toml")]


def pictured(folder: Path) -> list[str]:
    (folder / "film.mp4").write_bytes(picture(60_000))
    return ["probe", str(folder / "film.mp4")]


LISTS = pa.list_(pa.string())
CONVOKIT = {name: json.dumps({}) for name in ("utterances.jsonl", "speakers.json", "corpus.json")}
BOMBS: dict[str, Write] = {
    "gzip of 3 GiB, zeros": packed("a.jsonl.gz", bytes(8 * MIB)),
    "gzip of 3 GiB, one line": packed("a.jsonl.gz", b"a" * 8 * MIB, before=HELLO),
    "gzip of 3 GiB, the same chat": packed("a.jsonl.gz", repeated(LINE)),
    "gzip of 3 GiB, chats that differ": packed("a.jsonl.gz", noisy_chats()),
    "gzip of 3 GiB, USS": packed("SGD.txt.gz", repeated(b"USER\thello there\t\t4,4,3\n"), "uss"),
    "gzip of 3 GiB, a table": packed("a.csv.gz", repeated(b"c0,user,hello,4\n"), before=b"chat,role,text,score\n"),
    "gzip of 3 GiB, a JSON list": packed("a.json.gz", repeated(b"{}, "), before=b"["),
    "a line of 1 GB, chats": long_line("chat", "a.jsonl", HELLO),
    "a line of 1 GB, a transcript": long_line("media", "s1/transcript.vtt", b"WEBVTT\n\n00:00.000 --> 00:01.000\n"),
    "a sparse file of 20 GB, chats": importing(chat("a.jsonl", LINE, 20 << 30)),
    "a sparse file of 20 GB, a table": importing(chat("a.csv", b"chat,role,text\n", 20 << 30)),
    "a sparse file of 20 GB, Parquet": importing(chat("a.parquet", b"PAR1", 20 << 30)),
    "a sparse file of 20 GB, a transcript": importing(in_folder("media", "s1/transcript.csv", b"speaker", 20 << 30)),
    "a sparse file of 20 GB, ratings": importing(
        in_folder("media", "ratings.csv", b"session_id", 20 << 30, ("s1/transcript.csv", CUES))
    ),
    "a sparse file of 20 GB, a film": importing(
        in_folder("media", "s1/alice.mp4", b"\0\0\0\x18ftypisom", 20 << 30, ("s1/transcript.csv", CUES))
    ),
    "a sparse file of 20 GB, a configuration": sparse_settings,
    "Parquet of 50 million rows, SODA": parquet("soda", dialogue=LISTS, speakers=LISTS),
    "Parquet of 50 million rows, turns": parquet("chat", chat=pa.string(), role=pa.string(), text=pa.string()),
    "Parquet of 50 million rows, chats": parquet("chat", id=pa.string(), messages=LISTS, score=pa.int32()),
    "Parquet of 50 million rows, a corpus": corpus_of_rows,
    "JSON 200,000 deep, chats": importing(chat("a.json", b"[" * DEEP + b"]" * DEEP)),
    "JSON 200,000 deep, ConvoKit": importing(
        in_folder("convokit", "conversations.json", b'{"a":' * DEEP + b"1" + b"}" * DEEP, 0, *CONVOKIT.items())
    ),
    "JSON 200,000 deep, WhisperX": importing(in_folder("media", "s1/a.json", b'{"segments":' + b"[" * DEEP)),
    "a picture of 60,000 x 60,000 as film": importing(
        in_folder("media", "s1/alice.mp4", picture(60_000), 0, ("s1/transcript.csv", CUES))
    ),
    "a picture of 60,000 x 60,000 as film, probed": pictured,
}
