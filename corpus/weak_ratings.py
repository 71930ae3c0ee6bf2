"""Which ratings of a corpus have too few sessions to tell methods apart."""

from __future__ import annotations

from collections import defaultdict

from corpus.corpus import Corpus
from corpus.power import too_few_sessions_warning
from corpus.settings import SplitSettings


def weak_ratings(corpus: Corpus) -> list[str]:
    """One warning for all ratings with the same number of sessions, at the default share of test sessions."""
    scores: dict[str, list[float]] = defaultdict(list)
    for session in corpus.iter_sessions():
        for rating in session.ratings:
            scores[rating.name].append(rating.score)
    names_of: dict[str, list[str]] = {}
    for name, found in sorted(scores.items()):
        warning = too_few_sessions_warning(found, SplitSettings().test)
        if warning:
            names_of.setdefault(warning, []).append(name)
    return [f"{', '.join(names)}: {warning}" for warning, names in names_of.items()]
