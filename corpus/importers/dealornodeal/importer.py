"""Deal or No Deal as a corpus: a dialogue a session, seen by both of its people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from apportion.corpus import account
from apportion.corpus.builder import CorpusBuild, CorpusRows, SkippedSession
from apportion.corpus.importers.dealornodeal.rows import ITEMS, WORTH, Row, Split, read_rows
from apportion.corpus.importers.reading.sources import check_options, count_option, numbered
from apportion.corpus.session import ENVIRONMENT

LICENCE = (
    "licence: CC BY-NC 4.0 (Lewis et al. 2017, github.com/facebookresearch/end-to-end-negotiator): no commercial use, "
    "of this corpus nor of what is made or trained from it"
)
OPTIONS = {"limit": "only the first so many dialogues of each part"}
FIRST, SECOND = "first", "second"
"""What the two are called: by who speaks first."""
SCORES = 2
"""So many scores the rules give each: points and advantage."""
ENDS = "[end] ends the talk"
"""The turn that a selection is: who ends the talk says nothing."""


def import_corpus(src: Path, options: Mapping[str, str]) -> CorpusBuild:
    """Sessions in which the environment gives each their points and their advantage; who was left by the other, none.

    Two rows that are one dialogue, as its two people see it, become one session. What was selected is in no turn; who
    ended the talk is, since it may be all that somebody did.

    ``src``: the folder of ``data.txt``, ``val.txt`` and ``test.txt`` (plain or gzip), or one of them. ``options``:
    ``limit``: only the first so many dialogues of each part. Raises ``InputError``: as `read_rows`; an option that
    cannot be used.
    """
    check_options("dealornodeal", options, OPTIONS)
    limit = count_option("dealornodeal", options, "limit")
    parts, damaged = read_rows(src)
    rows = CorpusRows()
    for part, of_part in parts.items():
        found = dialogues(of_part)[:limit]
        for number, row in enumerate(found, start=1):
            _session(rows, numbered(f"dealornodeal-{part}", number), part, row)
        _tell(of_part, found)
    left_out = [SkippedSession(numbered(f"dealornodeal-{one.part}-line", one.line), one.message) for one in damaged]
    counts = ", ".join(f"{len(of_part):,} {part}" for part, of_part in parts.items())
    notes = (LICENCE, f"rows, one as each of the two sees a dialogue: {counts}")
    return CorpusBuild(rows.tables(), notes, tuple(left_out), usual_language="en")


def dialogues(rows: list[Row]) -> list[Row]:
    """The dialogues of rows, each once, as who speaks first sees it; in the order of the rows."""
    seen: dict[tuple[object, ...], Row] = {}
    for row in rows:
        first = _first(row)
        if first.key not in seen or seen[first.key].end != "agreed":
            seen[first.key] = first
    return list(seen.values())


def _tell(rows: list[Row], kept: list[Row]) -> None:
    """Tell the account of the rows that became no session of their own."""
    new = {row.key for row in kept}
    there = set(new)
    for row in rows:
        key = _first(row).key
        if key in new:
            new.remove(key)
        elif key in there:
            row.tell(account.current().joined, "are a dialogue's other side")
        else:
            row.tell(account.current().left_out, "beyond the limit")


def _first(row: Row) -> Row:
    """The row as who speaks first sees it."""
    return row if row.said[0][0] else other_side(row)


def other_side(row: Row) -> Row:
    """The same dialogue as the other of the two sees it; what they selected is known where there was a deal."""
    theirs: Split | None = None
    if row.end == "agreed" and row.selected is not None:
        books, hats, balls = (count - one for count, one in zip(row.counts, row.selected, strict=True))
        theirs = books, hats, balls
    said = tuple((not mine, text) for mine, text in row.said)
    return replace(row, own=row.other, other=row.own, said=said, ended_by_you=not row.ended_by_you, selected=theirs)


def _session(rows: CorpusRows, session_id: str, part: str, row: Row) -> None:
    names = {True: FIRST, False: SECOND}
    read = account.current()
    read.read("scores", 2 * SCORES)
    read.joined("words", "say that somebody ends the talk", 1 - account.words_in([ENDS]))
    said = [*row.said, (row.ended_by_you, ENDS)]
    rows.session(session_id, f"dealornodeal/{part}")
    for turn, (mine, text) in enumerate(said):
        rows.utterance(session_id, turn, names[mine], text)
    pool = ", ".join(f"{many} {item}{'s' * (many > 1)}" for many, item in zip(row.counts, ITEMS, strict=True))
    rows.background(session_id, "rules", f"Two divide {pool}. Nobody gets anything unless they agree.")
    speakers = {mine for mine, _ in said}
    for mine, values, points in zip((True, False), (row.own, row.other), _both(row), strict=True):
        if mine not in speakers:
            read.left_out("scores", "of somebody who says nothing", SCORES, row.place)
            continue
        worth = ", ".join(f"{item} {value}" for item, value in zip(ITEMS, values, strict=True))
        rows.background(session_id, "goal", f"What one of each is worth to you: {worth}.", names[mine])
        if points is not None:
            own, others = points
            pair = (ENVIRONMENT, names[mine])
            rows.rating(session_id, pair, "points", own, (0.0, WORTH), annotator="rules")
            rows.rating(session_id, pair, "advantage", own - others, (-WORTH, WORTH), annotator="rules")
        else:
            read.left_out("scores", "not known, since somebody left", SCORES, row.place)


def _both(row: Row) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """The points of each of the two, with those of the other."""
    if row.points is None:
        return None, None
    own, others = row.points
    return (own, others), (others, own)
