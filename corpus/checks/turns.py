"""Checks of sessions and their utterances: times in order, inside the session, ids that do not overlap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.checks.rows import duplicates, issues, not_numbers, nulls, once, rows_where, unknown_sessions
from apportion.corpus.corpus import Corpus
from apportion.corpus.files.stored_rows import StoredRows
from apportion.corpus.files.tablefile import parts
from apportion.corpus.issue import ValidationIssue
from apportion.corpus.languages.names import read_language
from apportion.corpus.schema import SESSIONS, UTTERANCES
from apportion.corpus.session import ENVIRONMENT
from apportion.foundation.errors import UnitError

SLACK_S = 1.0
"""How far a transcript may run past the recording: players and transcribers round differently."""


def check_sessions(corpus: Corpus) -> Iterator[ValidationIssue]:
    """Ids that occur twice, impossible durations, sessions in which nobody speaks."""
    table = corpus.sessions
    yield from duplicates(table, SESSIONS)
    yield from not_numbers(table, "sessions", ["duration_s"])
    below, allowed = rows_where(table, pc.less(table.column("duration_s"), 0)), "0 s or more, or empty"
    yield from issues("sessions", below, "duration_s", "{duration_s:g} s", allowed, "Correct the duration.")
    said = corpus.utterances
    ids = pa.array(said.ids) if isinstance(said, StoredRows) else said.column("session_id").combine_chunks()
    spoken = pc.is_in(table.column("session_id"), value_set=ids)
    silent, hint = rows_where(table, pc.invert(spoken)), "Add its transcript, or leave the session out."
    told, allowed = "the session has no utterances", "at least one utterance a session"
    yield from issues("sessions", silent, "session_id", told, allowed, hint)
    yield from _no_languages(table.column("language"))


def _no_languages(column: pa.ChunkedArray) -> Iterator[ValidationIssue]:
    """Values of the column that name no language, each once: such sessions go by their words."""
    for value in column.unique().to_pylist():
        try:
            read_language(value)
        except UnitError as error:
            count = pc.sum(pc.equal(column, value)).as_py()
            yield ValidationIssue(
                "sessions", None, "language", None, f"{value!r} in {count:,} sessions",
                "an ISO 639 code such as en", f"They are told by their words. {error}", "warning",
            )  # fmt: skip


def check_utterances(corpus: Corpus) -> Iterator[ValidationIssue]:
    """Missing values, overlapping turn numbers, unknown sessions, times that cannot be."""
    blank: list[tuple[int, dict[str, Any]]] = []
    found: list[list[ValidationIssue]] = []
    for first, table in parts(corpus.utterances):
        empty = pc.equal(pc.utf8_trim_whitespace(table.column("text")), "")
        blank += ((first + number, row) for number, row in rows_where(table, empty))
        checks = (
            nulls(table, UTTERANCES),
            duplicates(table, UTTERANCES, first),
            unknown_sessions(table, "utterances", corpus.sessions),
            not_numbers(table, "utterances", ["start_s", "end_s"]),
            (),
            _reserved_name(table),
            _half_timed(table),
            _ends_before_start(table),
            _outside(table, corpus.sessions),
            _out_of_order(table),
        )
        found = found or [[] for _ in checks]
        for problems, check in zip(found, checks, strict=True):
            problems += (one if one.row is None else replace(one, row=first + one.row) for one in check)
    found[4] += _blank(blank)
    yield from chain.from_iterable(found)


def _blank(found: list[tuple[int, dict[str, Any]]]) -> Iterator[ValidationIssue]:
    """One warning where turns are there in which nothing was said."""
    told = f"{len(found):,} turns are blank, and a method may pay them as it pays what was said"
    hint = "Leave them out, unless saying nothing was an answer."
    yield from issues("utterances", found[:1], "text", told, "what was said", hint, "warning")


def _reserved_name(table: pa.Table) -> Iterator[ValidationIssue]:
    """One problem a session in which a speaker has the name of the rater who is nobody."""
    called = once(rows_where(table, pc.equal(table.column("speaker"), ENVIRONMENT)))
    told = f"a speaker is called {ENVIRONMENT!r}, the rater of scores that rules or a judge gave"
    yield from issues("utterances", called, "speaker", told, "any other name", "Rename the speaker in all tables.")


def _ends_before_start(table: pa.Table) -> Iterator[ValidationIssue]:
    turned = rows_where(table, pc.less(table.column("end_s"), table.column("start_s")))
    told, allowed = "turn {turn} ends at {end_s:g} s, before its start at {start_s:g} s", "{start_s:g} s or later"
    yield from issues("utterances", turned, "end_s", told, allowed, "Correct start_s or end_s.")


def _half_timed(table: pa.Table) -> Iterator[ValidationIssue]:
    start, end = table.column("start_s").is_null(), table.column("end_s").is_null()
    for number, row in rows_where(table, pc.xor(start, end)):
        missing = "start_s" if row["start_s"] is None else "end_s"
        told = "turn {turn} has only one of start_s and end_s"
        yield from issues("utterances", [(number, row)], missing, told, "both, or neither", f"Add {missing}.")


def _outside(table: pa.Table, sessions: pa.Table) -> Iterator[ValidationIssue]:
    """One problem a session whose transcript runs before its start or past its end, at the worst row."""
    timed = table.select(["session_id", "turn", "start_s", "end_s"])
    timed = timed.append_column("row", pa.array(range(1, timed.num_rows + 1), pa.int64()))
    timed = timed.filter(pc.and_(pc.is_finite(timed.column("start_s")), pc.is_finite(timed.column("end_s"))))
    durations = sessions.select(["session_id", "duration_s"]).to_pylist()
    limit = {row["session_id"]: row["duration_s"] for row in durations if row["duration_s"] is not None}
    groups = timed.group_by("session_id", use_threads=False).aggregate([("start_s", "min"), ("end_s", "max")])
    for group in groups.to_pylist():
        id_, first, last = group["session_id"], group["start_s_min"], group["end_s_max"]
        if first < 0:
            row, hint = _row_where(timed, id_, "start_s", first), "Times count from the session's start."
            yield ValidationIssue("utterances", row, "start_s", id_, f"{first:g} s", "0 s or later", hint)
        if id_ in limit and last > limit[id_] + SLACK_S:
            row, allowed = _row_where(timed, id_, "end_s", last), f"up to {limit[id_]:g} s, the session's duration_s"
            told = f"{last:g} s is after the end of the session"
            hint = "This looks like a transcript for another session: check which files belong together."
            yield ValidationIssue("utterances", row, "end_s", id_, told, allowed, hint)


def _row_where(table: pa.Table, session_id: str, column: str, value: float) -> int:
    match = pc.and_(pc.equal(table.column("session_id"), session_id), pc.equal(table.column(column), value))
    return int(table.filter(match).column("row")[0].as_py())


def _out_of_order(table: pa.Table) -> Iterator[ValidationIssue]:
    """One warning a session in which a later turn number starts earlier."""
    numbered = table.append_column("row", pa.array(range(1, table.num_rows + 1), pa.int64()))
    timed = numbered.filter(pc.is_finite(pc.fill_null(table.column("start_s"), float("nan"))))
    timed = timed.sort_by([("session_id", "ascending"), ("turn", "ascending")])
    if timed.num_rows < 2:
        return
    ids, starts = timed.column("session_id").combine_chunks(), timed.column("start_s").combine_chunks()
    back = pc.and_(pc.equal(ids[1:], ids[:-1]), pc.less(starts[1:], starts[:-1]))
    earlier = once((row["row"], row) for _, row in rows_where(timed.slice(1), back))
    told = "turn {turn} starts at {start_s:g} s, earlier than the turn before it"
    allowed, hint = "turns numbered in the order of their starts", "Number the turns by start_s."
    yield from issues("utterances", earlier, "start_s", told, allowed, hint, "warning")
