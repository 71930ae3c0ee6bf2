"""Checks of ratings and turn labels: on their scale, by and for people who are there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.annotators import COMPUTED, is_badly_computed
from apportion.corpus.checks.rows import duplicates, issues, not_numbers, nulls, pairs, rows_where, unknown_sessions
from apportion.corpus.corpus import Corpus
from apportion.corpus.issue import ValidationIssue
from apportion.corpus.schema import EPISODE_KEY, RATINGS, TURN_LABELS
from apportion.corpus.session import ENVIRONMENT

_SCALE = "low, high, higher_is_better"


def check_ratings(corpus: Corpus) -> Iterator[ValidationIssue]:
    """Scores off their scale, scales that cannot be or differ, raters and targets who do not take part."""
    table = corpus.ratings
    yield from nulls(table, RATINGS)
    yield from duplicates(table, RATINGS)
    yield from unknown_sessions(table, "ratings", corpus.sessions)
    yield from not_numbers(table, "ratings", ["score", "low", "high"])
    yield from _scale_ends(table, "ratings")
    yield from _off_scale(table, "ratings", "score")
    yield from _absent_people(corpus)
    yield from _rates_alone(table)
    yield from _unnamed_judge(table)
    yield from _differing_scales(table)
    yield from _no_variance(corpus)


def check_turn_labels(corpus: Corpus) -> Iterator[ValidationIssue]:
    """Labels off their scale, or of turns that are not there."""
    table = corpus.turn_labels
    if table.num_rows == 0:
        return
    yield from nulls(table, TURN_LABELS)
    yield from duplicates(table, TURN_LABELS)
    yield from unknown_sessions(table, "turn_labels", corpus.sessions)
    yield from not_numbers(table, "turn_labels", ["value", "low", "high"])
    yield from _scale_ends(table, "turn_labels")
    yield from _off_scale(table, "turn_labels", "value")
    unnamed = [by is not None and is_badly_computed(by) for by in table["annotator"].to_pylist()]
    odd = rows_where(table, pa.chunked_array([pa.array(unnamed)]))
    told = "the annotator {annotator!r} does not say what computed the label, or is spelled otherwise"
    allowed = f"a person's id, nothing, or '{COMPUTED}' and what computed it, such as '{COMPUTED}rollouts'"
    yield from issues("turn_labels", odd, "annotator", told, allowed, "Name what computed it, in that spelling.")
    turns = pairs(corpus.utterances, "session_id", "turn")
    wrong = [key not in turns for key in _rows(table, "session_id", "turn")]
    unknown = rows_where(table, pa.chunked_array([pa.array(wrong)]))
    hint = "Correct the turn number, or remove the label."
    told = "turn {turn} is not in the table utterances"
    yield from issues("turn_labels", unknown, "turn", told, "a turn of the session", hint)


def _scale_ends(table: pa.Table, name: str) -> Iterator[ValidationIssue]:
    turned = rows_where(table, pc.greater_equal(table.column("low"), table.column("high")))
    hint = "Correct the ends of the scale; say higher_is_better = false where a low value is the good end."
    yield from issues(name, turned, "low", "low {low:g} is not below high {high:g}", "low < high", hint)


def _off_scale(table: pa.Table, name: str, column: str) -> Iterator[ValidationIssue]:
    outside = pc.and_(outside_scale(table, column), pc.is_finite(table.column(column)))
    told, hint = f"{{{column}:g}} is outside its scale", f"Correct the {column}, or the ends of its scale (low, high)."
    yield from issues(name, rows_where(table, outside), column, told, "{low:g} to {high:g}", hint)


def outside_scale(table: pa.Table, column: str) -> pa.ChunkedArray:
    """True where a value lies beyond the ends of its scale (``low``, ``high``); false where one of them is null."""
    value = table.column(column)
    beyond = pc.or_(pc.less(value, table.column("low")), pc.greater(value, table.column("high")))
    return pc.fill_null(beyond, False)


def _absent_people(corpus: Corpus) -> Iterator[ValidationIssue]:
    """A target who says nothing cannot be credited; a rater must speak or be recorded to react, or be nobody."""
    speaking = pairs(corpus.utterances, "session_id", "speaker")
    present = speaking | pairs(corpus.media, "session_id", "speaker")
    raters = present | {(id_, ENVIRONMENT) for id_, _ in speaking}
    sessions = {id_ for id_, _ in speaking}
    for number, (session_id, rater, target) in enumerate(_rows(corpus.ratings, "session_id", "rater", "target"), 1):
        if session_id not in sessions:
            continue  # Told already: the session is unknown, or has no utterances.
        for column, person, known in (("rater", rater, raters), ("target", target, speaking)):
            if person is not None and (session_id, person) not in known:
                people = ", ".join(sorted(name for id_, name in known if id_ == session_id and name is not None))
                told = f"{person!r} is not a speaker of the session"
                hint = "Correct the name in ratings or in utterances."
                yield ValidationIssue("ratings", number, column, session_id, told, people, hint)


def _rates_alone(table: pa.Table) -> Iterator[ValidationIssue]:
    """One warning where somebody's own score would credit their own turns."""
    found = list(rows_where(table, pc.equal(table.column("rater"), table.column("target"))))
    told = f"in {len(found):,} ratings rater and target are one person, such as {{rater!r}}, "
    told += "who is paid by their own score"
    hint = "Name who is rated, or leave these ratings out."
    yield from issues("ratings", found[:1], "target", told, "another person", hint, "warning")


def _unnamed_judge(table: pa.Table) -> Iterator[ValidationIssue]:
    """One warning where the environment gave scores and no annotator says by whom."""
    unnamed = pc.and_(pc.equal(table.column("rater"), ENVIRONMENT), table.column("annotator").is_null())
    found = [number for number, _ in rows_where(table, unnamed)]
    if found:
        told = f"{len(found):,} scores of the rater {ENVIRONMENT!r} do not say who gave them"
        allowed, hint = "the judge's name, or rules", "Fill in the annotator."
        yield ValidationIssue("ratings", found[0], "annotator", None, told, allowed, hint, "warning")


def _differing_scales(table: pa.Table) -> Iterator[ValidationIssue]:
    """Annotators of one episode must share a scale (error); the sessions of one rating should (warning)."""
    scales = pairs(table, *EPISODE_KEY, "low", "high", "higher_is_better")
    of_episode: dict[Any, list[Any]] = defaultdict(list)
    of_name: dict[str, set[Any]] = defaultdict(set)
    for row in scales:
        of_episode[row[:4]].append(row[4:])
        of_name[row[3]].add(row[4:])
    for (session_id, rater, target, name), found in sorted(of_episode.items(), key=str):
        if len(found) > 1:
            told = f"the annotators of {name!r} ({rater} of {target}) use {len(found)} different scales"
            allowed, hint = "one scale an episode", "Map their scores to one scale."
            yield ValidationIssue("ratings", None, _SCALE, session_id, told, allowed, hint)
    for name, different in sorted(of_name.items(), key=str):
        if len(different) > 1:
            shown = ", ".join(sorted(f"{low} to {high}" for low, high, _ in different)[:4])
            told, allowed = f"{name!r} has {len(different)} different scales ({shown})", "one scale a rating name"
            hint = "Map the scores to one scale, or name the ratings apart."
            yield ValidationIssue("ratings", None, _SCALE, None, told, allowed, hint, "warning")


def _no_variance(corpus: Corpus) -> Iterator[ValidationIssue]:
    table = corpus.ratings
    for name in corpus.rating_names():
        scores = table.filter(pc.equal(table.column("name"), name)).column("score").drop_null().to_pylist()
        warning = score_variance_warning(scores)
        if warning:
            told, hint = f"{name!r}: {warning}", "Add sessions with other scores, or choose another rating."
            yield ValidationIssue("ratings", None, "score", None, told, "scores that differ", hint, "warning")


def _rows(table: pa.Table, *columns: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(table.column(name).to_pylist() for name in columns), strict=True)


def score_variance_warning(scores: Sequence[float]) -> str | None:
    """A sentence where all of the given session scores (S,) are the same, else None."""
    if not scores or min(scores) != max(scores):
        return None
    many = "the only score is" if len(scores) == 1 else f"all {len(scores)} scores are"
    return f"{many} {scores[0]:g}: without variance there is nothing to decompose or to learn"
