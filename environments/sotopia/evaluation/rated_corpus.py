"""A corpus with further ratings: everything that it had, and what judges or people said of its episodes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.account import RECORD
from apportion.corpus.builder import CorpusBuild, CorpusRows, SkippedSession
from apportion.corpus.corpus import SCHEMAS, Corpus
from apportion.corpus.files.tablefile import find_table
from apportion.corpus.session import ENVIRONMENT
from apportion.corpus.sotopia_eval import OVERALL, RANGES
from apportion.corpus.writer import ImportReport, place
from apportion.environments.episode_replay import MADE_BEFORE
from apportion.environments.sotopia.evaluation.scores import VERDICTS, CharacterScores, read_verdicts, write_verdicts
from apportion.environments.sotopia.simulation import LOG
from apportion.foundation.errors import InputError
from apportion.foundation.files import file_digest, write_atomically
from apportion.foundation.truncate import listed

KIND = "judge"
_JUDGE, _AND = ", judge ", " and "
"""In a session's source, what its judges stand behind, and between."""


@dataclass(frozen=True)
class Changes:
    """In what the corpus with further ratings differs from the one that it is made from.

    ``verdicts``: What was said of its episodes. ``named``: Of those who have rated, the judges that the sessions'
    source is to name; people are none. ``without``: Whose earlier ratings are left out. ``broken``: Sessions that are
    not brought along, and why: what breaks the rules of a corpus cannot be written. ``along``: Names of further files
    of the old corpus that the new one gets where they are there. ``notes``: What is said of it.
    """

    verdicts: tuple[CharacterScores, ...]
    named: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    broken: tuple[SkippedSession, ...] = ()
    along: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def corpus_digests(corpus: Corpus) -> dict[str, str]:
    """What tells a corpus from every other: by table the digest of its file."""
    paths = {name: find_table(corpus.root, name) for name in SCHEMAS}
    return {name: file_digest(path) for name, path in paths.items() if path is not None}


def made_before(corpus: Corpus) -> dict[str, Any]:
    """The record of what the corpus was made by, for the record of what is made from it; nothing where it has none."""
    try:
        return {MADE_BEFORE: json.loads((corpus.root / RECORD).read_text(encoding="utf-8"))}
    except (OSError, ValueError):
        return {}


def check_out(corpus: Corpus, out: Path) -> None:
    """Refuse to write a corpus over the one that it is made from. Raises InputError: both are the same folder."""
    if out.resolve() == corpus.root.resolve():
        raise InputError(f"{out}: the corpus that is judged is not written over; name another folder")


def check_judges(corpus: Corpus, judges: Sequence[str], without: Sequence[str]) -> None:
    """Find out before anything is paid whether the ratings of ``judges`` can be added.

    Raises InputError: a judge's ratings are there already and are not left out, or nobody is called so in ``without``.
    """
    known = set(corpus.ratings["annotator"].drop_null().to_pylist())
    for name in without:
        if name not in known:
            there = listed([repr(one) for one in sorted(known)], 10) or "none at all"
            raise InputError(f"{corpus.root}: no ratings by {name!r} to leave out; there are {there}")
    for judge in judges:
        if judge in known and judge not in without:
            raise InputError(
                f"{corpus.root}: it has ratings by {judge!r} already; leave those out, or judge the corpus before"
            )


def annotators(corpus: Corpus) -> dict[str, set[str]]:
    """By dimension (and ``overall``), whose scores of it a corpus has."""
    table = corpus.ratings.filter(pc.equal(corpus.ratings.column("rater"), ENVIRONMENT))
    by_name: dict[str, set[str]] = {}
    for name, annotator in zip(table["name"].to_pylist(), table["annotator"].to_pylist(), strict=True):
        if name in (*RANGES, OVERALL) and annotator is not None:
            by_name.setdefault(name, set()).add(annotator)
    return by_name


def place_rated(corpus: Corpus, changes: Changes, out: Path, record: Mapping[str, Any]) -> ImportReport:
    """Write ``corpus`` with further ratings; its log and earlier verdicts come along.

    ``corpus``: What is rated. ``changes``: What comes to it, and what is left out. ``out``: The folder of the new
    corpus, which `apportion.corpus.writer.check_free` has let pass. ``record``: Where it comes from, as JSON. Raises
    InputError: Somebody's rating is there already, or the folder cannot be written.
    """
    kept, dropped = _without(corpus, changes.without)
    new = _ratings(changes.verdicts)
    _check_new(kept, new)
    ratings = pa.concat_tables([kept, new])
    before = [one for one in read_verdicts(corpus.root) if one.judge not in changes.without]
    tables = {**corpus.tables, "sessions": _sources(corpus.sessions, changes), "ratings": ratings}
    gone = pa.array([one.session_id for one in changes.broken], pa.string())
    tables = {
        name: table.filter(pc.invert(pc.is_in(table["session_id"], value_set=gone))) for name, table in tables.items()
    }
    left_out = f"{dropped:,} ratings of {', '.join(changes.without)} left out"
    notes = (*changes.notes, *((left_out,) if changes.without else ()), *_mixed(ratings))
    try:
        out.mkdir(parents=True, exist_ok=True)
        # The log has the moves behind the words, by which whoever plays a session on begins.
        for path in (corpus.root / name for name in (LOG, *changes.along) if (corpus.root / name).exists()):
            write_atomically(out / path.name, path.read_bytes())
        write_verdicts(out, [*before, *changes.verdicts])
    except OSError as error:
        raise InputError(f"{out / VERDICTS}: cannot be written ({error.strerror or error})") from None
    return place(KIND, out, CorpusBuild(tables, notes, changes.broken), record)


def _ratings(verdicts: Sequence[CharacterScores]) -> pa.Table:
    rows = CorpusRows()
    for verdict in verdicts:
        for name, (score, scale) in verdict.scores().items():
            pair = (ENVIRONMENT, verdict.target)
            rows.rating(verdict.session_id, pair, name, score, scale, annotator=verdict.judge)
    return rows.tables()["ratings"]


def _sources(sessions: pa.Table, changes: Changes) -> pa.Table:
    """The sessions, whose source names its judges: those that have come, without those that were left out."""
    new: dict[str, list[str]] = {}
    for verdict in changes.verdicts:
        if verdict.judge in changes.named:
            new.setdefault(verdict.session_id, []).append(verdict.judge)
    sources = []
    for session_id, source in zip(sessions["session_id"].to_pylist(), sessions["source"].to_pylist(), strict=True):
        head, judge, names = source.rpartition(_JUDGE)
        old = [name for name in names.split(_AND) if name not in changes.without]
        both = dict.fromkeys([*old, *new.get(session_id, ())])
        sources.append(f"{head}{_JUDGE}{_AND.join(both)}" if judge and both else source)
    column = sessions.schema.get_field_index("source")
    return sessions.set_column(column, sessions.schema.field("source"), pa.array(sources, pa.string()))


def _without(corpus: Corpus, names: Sequence[str]) -> tuple[pa.Table, int]:
    table = corpus.ratings
    left_out = pc.fill_null(pc.is_in(table["annotator"], value_set=pa.array(names, pa.string())), False)
    kept = table.filter(pc.invert(left_out))
    return kept, table.num_rows - kept.num_rows


def _check_new(kept: pa.Table, new: pa.Table) -> None:
    key = ("session_id", "target", "name", "annotator")
    rated = set(zip(*(kept[column].to_pylist() for column in key), strict=True))
    for row in zip(*(new[column].to_pylist() for column in key), strict=True):
        if row in rated:
            raise InputError(
                f"session {row[0]}: {row[2]} of {row[1]!r} by {row[3]!r} is in the corpus already; "
                "leave those ratings out, or rate under another name"
            )


def _mixed(ratings: pa.Table) -> list[str]:
    """A note where a run would take the mean of several judges."""
    judges = sorted(set(ratings["annotator"].drop_null().to_pylist()))
    if len(judges) < 2:
        return []
    return [
        f"ratings by {listed(judges)}: where several rate the same, a run takes their mean; "
        "make a corpus without the others to train on one"
    ]
