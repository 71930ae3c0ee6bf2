"""Which methods a corpus gets where nobody names any: one table for `init`, `start` and `benchmark`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import groupby

from apportion.corpus.languages.names import in_words, understands
from apportion.corpus.languages.settling import languages_found
from apportion.corpus.session import Session
from apportion.foundation.errors import InputError
from apportion.pipeline.engine.load_corpus import REWARDS_WITHOUT

SCORES, SCORED, REPLIES, RECORDED = "scores of 4 sessions", "a score", "English replies", "recordings"
"""What a corpus may have."""
FEWEST_TO_LEARN = 4
"""Scored sessions that can be shared out, so that something can be learned from scores."""
ENGLISH = frozenset({"en"})


@dataclass(frozen=True)
class Row:
    """What a corpus needs, which of its methods is the run's own, what stands beside it, and why."""

    needs: Collection[str]
    method: str
    compare: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        """As a person is told: ``mix beside sentiment and uniform, since it reads ...``."""
        beside = f" beside {' and '.join(self.compare)}" if self.compare else ""
        return f"{self.method}{beside}, since {self.why}"


TABLE = (
    Row(
        {SCORES, REPLIES}, "mix", ("sentiment", "uniform"),
        "it reads how the other side replies in English, and the scores move that as far as they carry",
    ),
    Row(
        {SCORES, RECORDED}, "mix", ("uniform",),
        "it learns from the scores what face, voice and replies are worth, in any language",
    ),
    Row(
        {SCORED, REPLIES}, "reactions-en", ("sentiment", "uniform"),
        "it reads how the other side replies in English; the scores are too few or too alike, and teach nothing",
    ),
    Row({SCORED}, "uniform", (), "no default method can tell its turns apart: each has the same share"),
    Row({REPLIES}, "reactions-en", (), "it reads how the other side replies in English, and needs no score"),
)  # fmt: skip
"""The first row whose needs are met counts. A language model's key changes nothing: what costs money is asked for by
name, `llm` in `decompose.compare`."""


def choose_methods(sessions: Mapping[str, Session], rating: str | None = None) -> Row:
    """The row of `TABLE` for these sessions, its reason with what is in other languages. ``rating``: the score that
    counts; None for any.

    Raises InputError: Nobody gave a score, and nobody replies in English.
    """
    found = languages_found(sessions)
    english = {name for name, one in found.items() if understands(ENGLISH, one.language)}
    others = Counter(one.language for name, one in found.items() if name not in english)
    told = ", ".join(f"{many:,} {in_words(language)}" for language, many in others.most_common(3))
    has = what_it_has(sessions, english, rating)
    row = next((row for row in TABLE if has.issuperset(row.needs)), None)
    if row is None:
        lacking = f"none is in English ({told})" if told and not english else "nobody replies in one that is in English"
        raise InputError(
            f"no session has a score, and {lacking}: there is nothing to make rewards of. {REWARDS_WITHOUT} Or give "
            "the sessions scores and start again."
        )
    return Row(row.needs, row.method, row.compare, f"{row.why}; not in English: {told}") if told else row


def what_it_has(sessions: Mapping[str, Session], english: Collection[str], rating: str | None) -> frozenset[str]:
    """Which needs of `TABLE` are met."""
    scores = [{one.score for one in session.episodes(rating)} for session in sessions.values()]
    scored = sum(map(bool, scores))
    met = {
        SCORED: scored > 0,
        SCORES: scored >= FEWEST_TO_LEARN and len(set().union(*scores)) > 1,
        REPLIES: any(is_answered(sessions[name]) for name in english),
        RECORDED: any(session.media for session in sessions.values()),
    }
    return frozenset(name for name, is_met in met.items() if is_met)


def is_answered(session: Session) -> bool:
    """Whether somebody speaks again after another has: the least that can be a reaction to a turn."""
    parts = [speaker for speaker, _ in groupby(turn.speaker for turn in session.turns)]
    return len(parts) > len(set(parts))
