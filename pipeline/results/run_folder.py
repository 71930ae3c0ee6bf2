"""A finished run's folder: its published tables with the corpus that it was made from, and files made of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from apportion.corpus.corpus import Corpus
from apportion.corpus.recordings.mirrored import mirrored, named
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.files import digest, file_digest, is_address, write_atomically
from apportion.pipeline.config import load_config

if TYPE_CHECKING:
    import pyarrow as pa

UTTERANCE_TABLES = ("utterances.parquet", "utterances.jsonl")
RUBRIC = "rubric.toml"
"""The file of the signals that `llm-rubric` judged by, where the run had them written."""
FITTED, HASHES = "fitted", "sessions.parquet"
"""What methods learned, a file a method and seed, and what each session said, as sha256: by these, and by
``CHOSEN_SESSIONS`` to be judged, another run judges new sessions (`apportion.pipeline.frozen`)."""
CHOSEN = "chosen"
"""The document of the stage `select-sessions` with the ids of the sessions, sorted."""
CHOSEN_SESSIONS = f"{FITTED}/{CHOSEN}.json"
SLICES = "slices"
"""The folder of error slices in a run's."""
CORPUS_PATH = "corpus.path"
"""A file of a run's folder: where its corpus was last, for a run that is moved or copied without it."""
MOST_NAMED = 5
"""Runs that a message names where their parent was named."""


@dataclass(frozen=True)
class RunFolder:
    """The published tables of one run, and the corpus that it was made from."""

    folder: Path
    corpus: Corpus
    reply_max_s: float

    def table(self, name: str, session_id: str) -> pa.Table | None:
        """One session's rows of the table ``name``, None where the run has no such table."""
        return self._read(self.folder / f"{name}.parquet", session_id)

    def frames(self, session_id: str) -> pa.Table | None:
        """One session's ``frames``, None where nothing was measured in it."""
        return self._read(self.folder / "frames" / f"{session_file_name(session_id)}.parquet", session_id)

    def _read(self, path: Path, session_id: str) -> pa.Table | None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not path.is_file():
            return None
        try:
            return pq.read_table(path, filters=[("session_id", "==", session_id)], partitioning=None)
        except (OSError, pa.ArrowException) as error:
            raise UnitError(
                f"{path}: not a readable table ({str(error).splitlines()[0]}). Delete it and run `apportion run` again."
            ) from None


def open_run(source: Path, corpus: Path | None) -> RunFolder:
    """The run folder of a configuration, or ``source`` itself where it is one; ``corpus`` replaces the config's.

    Raises InputError: No such file or folder, a folder that is no run's, a run of an older version without ``corpus``,
    a run that has not been made yet, a corpus whose utterances are not those of the run.
    """
    folder, place = source, corpus
    if not source.is_dir():
        config = load_config(source)
        folder, place = config.output, corpus or config.corpus
    record = read_record(folder)
    opened = Corpus.open(place or recorded_corpus(record, folder))
    check_same(record, folder, opened.root)
    if corpus is not None:
        remember_corpus(opened.root, folder)
    return RunFolder(folder, opened, float(record["config"]["features"]["reply_max_s"]))


def corpus_place(corpus: Path, folder: Path) -> str:
    """Where a run's corpus is, for ``run.json``: its URL; or from the run's ``folder``, so that both can be moved.

    A corpus that shares no folder with the run but the root is told by its whole path.

    >>> corpus_place(Path("/data/calls/corpus"), Path("/data/calls/runs/first"))
    '../../corpus'
    >>> corpus_place(Path("/srv/corpus"), Path("/home/ann/run"))
    '/srv/corpus'
    """
    corpus, folder = corpus.absolute(), folder.absolute()
    if is_address(named(corpus)):
        return named(corpus)
    if len(Path(os.path.commonpath((corpus, folder))).parts) < 2:
        return corpus.as_posix()
    return Path(os.path.relpath(corpus, folder)).as_posix()


def remember_corpus(corpus: Path, folder: Path) -> None:
    """Note in the run's ``folder`` where its corpus is; a folder that cannot be written goes without."""
    with suppress(OSError):
        path, text = folder / CORPUS_PATH, f"{named(corpus.absolute())}\n"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text)


def recorded_corpus(record: Mapping[str, Any], folder: Path) -> Path:
    """Where ``run.json`` says that the corpus is; where none is there, where it was last.

    Raises InputError: A run of an older version, which does not say it; no folder at those places.
    """
    place = record.get("corpus")
    known = isinstance(place, str) and bool(place)
    corpus = folder / str(place)
    if known and corpus.is_dir():
        return corpus
    with suppress(OSError, ValueError):
        text = (folder / CORPUS_PATH).read_text(encoding="utf-8").strip()
        if is_address(text):
            return mirrored(text)
        if Path(text).is_absolute() and Path(text).is_dir():
            return Path(text)
    if known and is_address(str(place)):
        return mirrored(str(place))
    if not known:
        raise InputError(
            f"{folder}: this run was made by an older version, which does not say where its corpus is. Add --corpus "
            "FOLDER, or name the run's configuration (TOML) in its place."
        )
    raise InputError(
        f"{folder / 'run.json'}: its corpus was at {corpus.absolute()}, where there is no folder now. Say where "
        "it is with --corpus FOLDER; that is remembered."
    )


class Written(Protocol):
    """A report that files are noted in by what became of them."""

    written: list[Path]
    unchanged: list[Path]
    refused: list[Path]


def write_once(path: Path, content: bytes, force: bool, report: Written) -> None:
    """Write a file unless it has that content already; one with another is replaced only with ``force``.

    Raises InputError: The folder cannot be written to.
    """
    try:
        if path.is_file() and path.read_bytes() == content:
            report.unchanged.append(path)
            return
        if path.exists() and not force:
            report.refused.append(path)
            return
        write_atomically(path, content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}). Choose another folder with --out.") from None
    report.written.append(path)


def session_file_name(session_id: str) -> str:
    """A session id as a file name: anything unusual is percent-encoded, so that it stays inside the folder."""
    name = quote(session_id, safe="").replace(".", "%2E")
    return name if len(name) <= 100 else f"{name[:60]}-{digest(session_id)[:16]}"


def read_record(folder: Path) -> dict[str, Any]:
    """What ``run.json`` of a run's folder holds.

    Raises InputError: No such file, one that cannot be read, one that is no record of a run.
    """
    path = folder / "run.json"
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        float(record["config"]["features"]["reply_max_s"])
        dict(record["inputs"])
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{folder}: no run.json, so nothing has been run into this folder. {_instead(folder)}"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). Check its owner and mode.") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{path}: not the record of a run. Run `apportion run CONFIG` again to write it anew."
        ) from None
    return record


def _instead(folder: Path) -> str:
    """What to do where a folder is no run: those in it are named, a few of them."""
    try:
        runs = sorted(str(path.parent) for path in folder.glob("*/run.json"))
    except OSError:
        runs = []
    if not runs:
        return "Run `apportion run CONFIG` first, or name the folder of a run."
    more = f" and {len(runs) - MOST_NAMED:,} more" if len(runs) > MOST_NAMED else ""
    return f"Name a run in it: {', '.join(runs[:MOST_NAMED])}{more}."


def check_same(record: Mapping[str, Any], folder: Path, root: Path) -> None:
    """Raise InputError where a corpus is not the one that a run was made from.

    Turn numbers of other utterances would put behaviour beside words that it does not belong to.
    """
    for name in UTTERANCE_TABLES:
        path = root / name
        if path.is_file() and record["inputs"].get(name) != file_digest(path):
            raise InputError(
                f"{path}: not the utterances that the run in {folder} was made from. Run it again on this corpus, or "
                "name its own with --corpus."
            )
