"""Checks of the events that came with a corpus."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.compute as pc

from apportion.corpus.checks.rows import duplicates, issues, not_numbers, nulls, pairs, rows_where, unknown_sessions
from apportion.corpus.corpus import Corpus
from apportion.corpus.issue import ValidationIssue
from apportion.corpus.schema import EVENTS
from apportion.corpus.session import TALK_KINDS


def check_events(corpus: Corpus) -> Iterator[ValidationIssue]:
    """Unknown sessions and kinds, people who say nothing and are not recorded, times that cannot be."""
    table = corpus.events
    yield from nulls(table, EVENTS)
    yield from duplicates(table, EVENTS)
    yield from unknown_sessions(table, EVENTS.name, corpus.sessions)
    yield from not_numbers(table, EVENTS.name, ["start_s", "end_s", "strength"])
    people = pairs(corpus.utterances, "session_id", "speaker") | pairs(corpus.media, "session_id", "speaker")
    for number, row in enumerate(table.to_pylist(), start=1):
        who = (row["session_id"], row["person"])
        if row["kind"] is not None and row["kind"] not in TALK_KINDS:
            yield _issue(number, "kind", who[0], repr(row["kind"]), ", ".join(TALK_KINDS), "Correct the kind.")
        if row["person"] is not None and who not in people:
            told, allowed = f"{row['person']!r} neither speaks nor is recorded", "somebody of the session"
            yield _issue(number, "person", who[0], told, allowed, "Correct the name, or remove the row.")
    turned = rows_where(table, pc.less(table.column("end_s"), table.column("start_s")))
    told, allowed = "ends at {end_s:g} s, before its start", "{start_s:g} s or later"
    yield from issues(EVENTS.name, turned, "end_s", told, allowed, "Correct start_s or end_s.")
    below, hint = rows_where(table, pc.less(table.column("strength"), 0.0)), "Correct the strength, or leave it empty."
    yield from issues(EVENTS.name, below, "strength", "{strength:g}", "0 or more, or empty", hint)


def _issue(number: int, column: str, session_id: str, found: str, allowed: str, hint: str) -> ValidationIssue:
    return ValidationIssue(EVENTS.name, number, column, session_id, found, allowed, hint)
