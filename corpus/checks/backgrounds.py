"""Checks of what was known before the first turn: of a known kind, not empty, and known by somebody who speaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apportion.corpus.checks.rows import duplicates, nulls, pairs, unknown_sessions
from apportion.corpus.corpus import Corpus
from apportion.corpus.issue import ValidationIssue
from apportion.corpus.schema import BACKGROUNDS
from apportion.corpus.session import BACKGROUND_KINDS


def check_backgrounds(corpus: Corpus) -> Iterator[ValidationIssue]:
    """Unknown sessions and kinds, texts without a word, private rows of somebody who says nothing."""
    table = corpus.backgrounds
    if table.num_rows == 0:
        return
    yield from nulls(table, BACKGROUNDS)
    yield from duplicates(table, BACKGROUNDS)
    yield from unknown_sessions(table, "backgrounds", corpus.sessions)
    speaking: dict[str, set[str]] = {}
    for session_id, speaker in pairs(corpus.utterances, "session_id", "speaker"):
        speaking.setdefault(session_id, set()).add(speaker)
    for number, row in enumerate(table.to_pylist(), start=1):
        yield from _row_problems(row, number, speaking.get(row["session_id"]))


def _row_problems(row: dict[str, Any], number: int, speakers: set[str] | None) -> Iterator[ValidationIssue]:
    id_, speaker, kind, text = row["session_id"], row["speaker"], row["kind"], row["text"]
    if kind is not None and kind not in BACKGROUND_KINDS:
        allowed = ", ".join(BACKGROUND_KINDS)
        yield ValidationIssue("backgrounds", number, "kind", id_, repr(kind), allowed, "Correct the kind.")
    if text is not None and not text.strip():
        hint = "Write the text, or remove the row."
        yield ValidationIssue("backgrounds", number, "text", id_, "the text is empty", "a text with a word in it", hint)
    # A session that is unknown or in which nobody speaks is told once, not again for each row.
    if speaker is not None and speakers is not None and speaker not in speakers:
        names = ", ".join(sorted(name for name in speakers if name is not None))
        yield ValidationIssue(
            "backgrounds",
            number,
            "speaker",
            id_,
            f"{speaker!r} does not speak in the session",
            f"{names}, or empty for what everybody knows",
            "Correct the name, or remove the row.",
        )
