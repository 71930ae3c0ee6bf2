"""Everything that is wrong or odd in a corpus, with table, row and column."""

from __future__ import annotations

from collections.abc import Iterable

from apportion.corpus.checks.events import check_events
from apportion.corpus.checks.recordings import check_media
from apportion.corpus.checks.rows import check_backgrounds
from apportion.corpus.checks.scores import check_ratings, check_turn_labels
from apportion.corpus.checks.turns import check_sessions, check_utterances
from apportion.corpus.corpus import Corpus
from apportion.corpus.issue import ValidationIssue

__all__ = ["ValidationIssue", "broken_sessions", "validate"]


def validate(corpus: Corpus) -> list[ValidationIssue]:
    """Check all tables of ``corpus`` and the files that ``media`` names.

    Returns in table order. Errors carry the session they belong to, so that the other sessions can still be used.
    """
    checks = (
        check_sessions,
        check_utterances,
        check_ratings,
        *((check_media,) if corpus.media.num_rows else ()),
        check_turn_labels,
        check_backgrounds,
        *((check_events,) if corpus.events.num_rows else ()),
    )
    return [problem for check in checks for problem in check(corpus)]


def broken_sessions(problems: Iterable[ValidationIssue]) -> frozenset[str]:
    """The sessions that a fault keeps out of a run."""
    return frozenset(p.session_id for p in problems if p.severity == "error" and p.session_id is not None)
