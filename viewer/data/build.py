"""Makes the index of a run; `python -m apportion.viewer.data.build RUN CORPUS INDEX` does it in a process of its own.

Tables of a whole run are in memory meanwhile; a server that did it itself would keep that for as long as it lives.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import EPISODE_KEY
from apportion.corpus.session import Background, Episode, EpisodeKey, Media, Rating, Session, Turn
from apportion.evaluation.figures.disagreement import disagreement
from apportion.foundation.errors import ApportionError, InputError
from apportion.foundation.files import place_file, remove_leftovers, temporary_name
from apportion.viewer.data.index import TABLES, pack, searchable, slug_of, stamp
from apportion.viewer.data.run_location import RunPlace
from apportion.viewer.data.session import episode_order

PACKED = ("rewards", "scores", "samples", "descriptors", "utterance_features", "events", "quarantine")
"""Tables of a run of which each session's rows are kept in the index."""
EXCERPT = 160
SPARKS = 60
"""Values of a small picture of a session's rewards; more turns than that are thinned to their lowest."""


def build(place: RunPlace, path: Path) -> None:
    """Make the index of a run at ``path``: whole or not at all. Raises InputError: the run or its corpus is gone or
    cannot be read; the disk is full.
    """
    scratch = temporary_name(path)
    try:
        remove_leftovers(path.parent)  # What a killed process has begun.
        # Taken first: what changes while it is read makes the index a stale one, not a wrong one.
        fingerprint = place.fingerprint()
        with closing(sqlite3.connect(scratch)) as connection:
            connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + TABLES)
            _Build(place, connection).run()
            connection.execute("INSERT INTO facts VALUES ('fingerprint', ?)", (stamp(fingerprint),))
            connection.commit()
        place_file(scratch, path)
    except (OSError, sqlite3.Error, pa.ArrowException) as error:
        raise InputError(f"{path}: the index of {place.folder} cannot be made ({error}).") from None
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)


class _Build:
    """One making of an index: the tables of the run by session, and where rows go."""

    def __init__(self, place: RunPlace, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.record = place.record()
        self.corpus = Corpus.open(place.corpus)
        self.tables = {name: _BySession(place.folder / f"{name}.parquet") for name in PACKED}
        self.splits = _splits(place.folder / "splits.parquet")
        self.residuals = _residuals(place.folder / "projections")
        self.methods: Counter[str] = Counter()
        self.training: list[float] = []

    def run(self) -> None:
        chosen = self._sessions()
        slugs: set[str] = set()
        for number, session_id in enumerate(chosen, 1):
            slug = slug_of(session_id)
            if slug.casefold() in slugs:  # On a disk that does not tell capitals apart one page would hide the other.
                slug = f"{slug}~{number}"
            slugs.add(slug.casefold())
            self._add(number, self.corpus.session(session_id), slug)
        methods = sorted(self.methods)
        facts = {
            "methods": json.dumps(methods),
            "splits": json.dumps(sorted({self.splits[name] for name in chosen if name in self.splits})),
            "training_mean": json.dumps(float(np.mean(self.training)) if self.training else None),
            "method": _first_method(self.record, methods),
            "sessions": str(len(chosen)),
            "warnings": json.dumps(self.record.get("warnings", [])),
            "notes": json.dumps(self.record["config"].get("notes", [])),
            "quarantine": json.dumps(self.record.get("quarantine", {})),
        }
        self.connection.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())

    def _sessions(self) -> list[str]:
        ids = self.corpus.session_ids()
        limit = self.record["config"].get("run", {}).get("limit")
        return ids[:limit] if limit else ids

    def _add(self, number: int, session: Session, slug: str) -> None:
        rows = {name: table.columns(session.session_id) for name, table in self.tables.items()}
        for name, columns in rows.items():
            if columns:
                self.connection.execute("INSERT INTO packed VALUES (?, ?, ?)", (number, name, pack(columns)))
        self.connection.execute(
            "INSERT INTO packed VALUES (?, 'session', ?)", (number, pack(_session_columns(session)))
        )
        labels = self.corpus.labels(session.session_id)
        if labels.num_rows:
            columns = {name: labels[name].to_pylist() for name in labels.column_names if name != "session_id"}
            self.connection.execute("INSERT INTO packed VALUES (?, 'turn_labels', ?)", (number, pack(columns)))
        speakers = sorted({turn.speaker for turn in session.turns})
        ends = [turn.end_s for turn in session.turns if turn.end_s is not None]
        failed = len(rows["quarantine"].get("cause", ()))
        self.connection.execute(
            "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number, session.session_id, slug, self.splits.get(session.session_id), session.source, session.language,
                len(session.turns), session.duration_s or max(ends, default=None), json.dumps(speakers), failed,
            ),
        )  # fmt: skip
        said = searchable("\n".join(turn.text for turn in session.turns))
        self.connection.execute(
            "INSERT INTO words (rowid, name, speakers, said) VALUES (?, ?, ?, ?)",
            (number, searchable(session.session_id), searchable(" ".join(speakers)), said),
        )
        self._add_episodes(number, session, rows["rewards"], failed)

    def _add_episodes(self, number: int, session: Session, rewards: Mapping[str, list[Any]], failed: int) -> None:
        values = _mean_rewards(session.session_id, rewards)
        rated = {episode.key: episode for episode in session.episodes(self.record["config"].get("rating"))}
        texts = {turn.turn: turn.text for turn in session.turns}
        if self.splits.get(session.session_id) == "train":
            self.training += [episode.score for episode in rated.values() if episode.is_rated]
        columns = (rewards.get(name, ()) for name in EPISODE_KEY[1:])
        rewarded = {(session.session_id, *names) for names in zip(*columns, strict=True)}
        place = {key: number for number, key in enumerate(episode_order(session, rewarded))}
        keys: list[EpisodeKey | None] = [*sorted(rated.keys() | values.keys())]
        for key in keys or [None]:
            of_method = values.get(key, {}) if key else {}
            episode = rated.get(key) if key else None
            warnings = [f"{failed} failed or skipped"] if failed else []
            warnings += [] if of_method else ["no rewards"]
            row = self.connection.execute(
                "INSERT INTO episodes VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    number, *(key[1:] if key else (None, None, None)), *_score(episode),
                    len({turn for turns in of_method.values() for turn in turns}),
                    disagreement(_rows(of_method)), json.dumps(warnings), len(warnings),
                    place.get(key, 0) if key else 0,
                ),
            ).lastrowid  # fmt: skip
            for method, turns in of_method.items():
                self.methods[method] += 1
                lowest = min(turns, key=lambda turn: (turns[turn], turn))
                text = " ".join(texts.get(lowest, "").split())[:EXCERPT]
                residual = self.residuals.get(method, {}).get(key) if key else None
                spark = json.dumps([float(f"{value:.4g}") for value in _thinned(turns)])
                self.connection.execute(
                    "INSERT INTO standings VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (row, method, sum(turns.values()), residual, lowest, turns[lowest], text, spark),
                )


class _BySession:
    """A table of a run by session; without rows where the run has no such table."""

    def __init__(self, path: Path) -> None:
        self._ranges: dict[str, tuple[int, int]] = {}
        if not path.is_file():
            return
        table = pq.read_table(path, partitioning=None)
        self._sorted = table.take(pc.sort_indices(table, sort_keys=[("session_id", "ascending")])).combine_chunks()
        runs = pc.run_end_encode(self._sorted["session_id"].combine_chunks())
        ends = runs.run_ends.to_pylist()
        self._ranges = dict(zip(runs.values.to_pylist(), zip([0, *ends], ends, strict=False), strict=True))

    def columns(self, session_id: str) -> dict[str, list[Any]]:
        """The session's rows as columns, without the session's id; empty where there are none."""
        if session_id not in self._ranges:
            return {}
        start, end = self._ranges[session_id]
        rows = self._sorted.slice(start, end - start)
        return {name: rows[name].to_pylist() for name in rows.column_names if name != "session_id"}


def _session_columns(session: Session) -> dict[str, list[Any]]:
    """A session's turns, ratings, media and backgrounds as one row of lists."""
    parts = {
        "turns": [_fields(turn) for turn in session.turns],
        "ratings": [_fields(rating) for rating in session.ratings],
        "media": [_fields(media) for media in session.media],
        "backgrounds": [_fields(known) for known in session.backgrounds],
    }
    facts = {name: getattr(session, name) for name in ("session_id", "source", "duration_s", "language")}
    return {name: [value] for name, value in (parts | facts).items()}


def _fields(value: Turn | Rating | Media | Background) -> list[Any]:
    return list(vars(value).values())  # All are plain: dataclasses.astuple takes ten times as long to find that out.


def _mean_rewards(session_id: str, columns: Mapping[str, list[Any]]) -> dict[EpisodeKey, dict[str, dict[int, float]]]:
    """Rewards by episode, method and turn, the mean over seeds."""
    found: dict[EpisodeKey, dict[str, dict[int, list[float]]]] = {}
    if columns:
        names = (*EPISODE_KEY[1:], "method", "turn", "reward")
        for rater, target, name, method, turn, reward in zip(*(columns[c] for c in names), strict=True):
            if reward is not None and np.isfinite(reward):
                episode = found.setdefault((session_id, rater, target, name), {})
                episode.setdefault(method, defaultdict(list))[turn].append(reward)
    return {
        key: {m: {t: sum(v) / len(v) for t, v in sorted(turns.items())} for m, turns in sorted(methods.items())}
        for key, methods in found.items()
    }


def _rows(of_method: Mapping[str, Mapping[int, float]]) -> list[Any]:
    turns = sorted({turn for values in of_method.values() for turn in values})
    return [np.array([values.get(turn, np.nan) for turn in turns]) for values in of_method.values()]


def _thinned(turns: Mapping[int, float]) -> Sequence[float]:
    values = list(turns.values())
    if len(values) <= SPARKS:
        return values
    return [float(part.min()) for part in np.array_split(np.array(values), SPARKS)]


def _score(episode: Episode | None) -> tuple[float | None, float | None, float | None]:
    if episode is None or not episode.is_rated or not np.isfinite(episode.score):
        return (None, None, None)
    return (episode.score, episode.rating.low, episode.rating.high)


def _splits(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    table = pq.read_table(path, columns=["session_id", "split"], partitioning=None)
    return dict(zip(table["session_id"].to_pylist(), table["split"].to_pylist(), strict=True))


def _residuals(folder: Path) -> dict[str, dict[EpisodeKey, float]]:
    """By method and episode, how far its own values were from the score: the mean over seeds."""
    found: dict[str, dict[EpisodeKey, list[float]]] = {}
    for path in sorted(folder.glob("*-seed*.json")):
        of_method = found.setdefault(path.stem.rpartition("-seed")[0], defaultdict(list))
        for row in json.loads(path.read_text(encoding="utf-8")).get("residuals", []):
            of_method[tuple(row[name] for name in EPISODE_KEY)].append(float(row["residual"]))
    return {method: {key: float(np.mean(v)) for key, v in rows.items()} for method, rows in found.items()}


def _first_method(record: Mapping[str, Any], methods: Sequence[str]) -> str:
    """The method that a list shows at first: the configuration's first one that tells turns apart."""
    section = record["config"].get("decompose", {})
    wanted = [name for name in (section.get("method"), *section.get("compare", ())) if name in methods]
    return next((name for name in [*wanted, *methods] if name != "uniform"), methods[0] if methods else "")


def main(arguments: Sequence[str]) -> int:
    """Make the index that the arguments name; exit code 2 and one line where that cannot be."""
    folder, corpus, path = map(Path, arguments)
    try:
        build(RunPlace(folder, corpus), path)
    except ApportionError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
