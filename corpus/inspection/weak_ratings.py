"""Which ratings of a corpus have too few sessions to tell methods apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from apportion.corpus.corpus import Corpus
from apportion.corpus.issue import ValidationIssue, broken_sessions
from apportion.corpus.power import too_few_sessions_warning
from apportion.corpus.splits.settings import SplitSettings


def weak_ratings(corpus: Corpus, problems: Sequence[ValidationIssue]) -> list[str]:
    """One warning for all ratings with the same number of sessions, at the default shares.

    Only sessions count that a run would use: those with a fault among ``problems`` are no part of any split.
    """
    broken = broken_sessions(problems)
    names, ids = (corpus.ratings.column(name).to_pylist() for name in ("name", "session_id"))
    sessions_of: dict[str, set[str]] = {name: set() for name in corpus.rating_names()}
    for name, session_id in zip(names, ids, strict=True):
        if name is not None and session_id not in broken:
            sessions_of[name].add(session_id)
    names_of: dict[str, list[str]] = defaultdict(list)
    for name, session_ids in sessions_of.items():
        warning = too_few_sessions_warning(len(session_ids), SplitSettings())
        if warning:
            names_of[warning].append(name)
    return [f"{', '.join(names)}: {warning}" for warning, names in names_of.items()]
