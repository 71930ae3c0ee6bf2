"""USS (User Satisfaction Simulation): SGD.txt, MWOZ.txt, ReDial.txt, CCPE.txt, JDDC.txt, plain or gzip.

Tab-separated lines ROLE, TEXT, ACTION, s1,s2,...; a blank line ends a session; the line USER, OVERALL holds the
session's scores. The i-th score of every line is annotator i.
Source: github.com/sunnweiwei/user-satisfaction-simulation, dataset/README.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from apportion.corpus import account
from apportion.corpus.builder import CorpusBuild, CorpusRows, SkippedSession
from apportion.corpus.files.textfile import read_text
from apportion.corpus.importers.reading.labels import LabelsOfEarlierTurns
from apportion.corpus.importers.reading.sources import check_options, numbered, source_files, stem
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import shortened

RATER, TARGET = "USER", "SYSTEM"
NAME = "satisfaction"
SCALE = (1.0, 5.0)
OVERALL = "OVERALL"
LANGUAGES = {"jddc": "zh"}

Line = tuple[int, str]


def import_corpus(src: Path, options: Mapping[str, str]) -> CorpusBuild:
    """Sessions with one rating an annotator (1 to 5) and turn labels on the SYSTEM turn before the rated USER turn.

    ``src``: a file, or a folder of them. ``options``: none are known. Raises ``InputError``: a file that cannot be
    read, or holds no line of the format.
    """
    check_options("uss", options, ())
    rows, left_out = CorpusRows(), []
    labels = LabelsOfEarlierTurns(NAME, SCALE)
    for path in source_files(src, (".txt",)):
        sessions = list(_blocks(read_text(path)))
        _check_format(path, sessions)
        for number, lines in enumerate(sessions, start=1):
            session_id = numbered(stem(path), number)
            try:
                with account.session("dialogues", f"{path.name}, line {lines[0][0]}"):
                    _session(rows, labels, session_id, lines, stem(path))
            except UnitError as error:
                labels.discard()
                left_out.append(SkippedSession(session_id, f"{path.name}, {error}"))
    return CorpusBuild(rows.tables(), (), tuple(left_out), usual_language="en")


def _blocks(text: str) -> Iterator[list[Line]]:
    numbered_lines = enumerate((line.rstrip("\r") for line in text.split("\n")), start=1)
    for is_content, lines in groupby(numbered_lines, key=lambda line: bool(line[1].strip())):
        if is_content:
            account.current().read("dialogues")
            yield list(lines)


def _check_format(path: Path, sessions: list[list[Line]]) -> None:
    if not any(line.startswith((f"{RATER}\t", f"{TARGET}\t")) for lines in sessions for _, line in lines):
        raise InputError(
            f"{path}: no line begins with {RATER} or {TARGET} and a tab, so this is not a USS file. "
            "Is it of another kind (chat, conture, esconv, convokit, soda)?"
        )


def _session(rows: CorpusRows, labels: LabelsOfEarlierTurns, session_id: str, lines: list[Line], source: str) -> None:
    """Add one session; nothing is added where a line is wrong."""
    read = account.current()
    read.said("turns", [line.split("\t")[1] for _, line in lines if "\t" in line])
    spoken: list[tuple[str, str]] = []
    overall: list[float] | None = None
    target_turn: int | None = None
    for number, line in lines:
        role, text, scores = _parse(number, line)
        annotators: list[str | None] = [str(i) for i in range(len(scores))]
        if text == OVERALL and role == RATER:
            if overall is not None:
                raise UnitError(f"line {number}: a second {OVERALL}. Put a blank line between two sessions.")
            overall = scores
            read.read("scores", len(scores))
            read.joined("turns", f"lines {OVERALL}, which hold scores")
            read.left_out("words", f"the word {OVERALL}")
            continue
        if role == TARGET:
            target_turn = len(spoken)
            labels.misplaced(len(scores))
        elif scores:
            labels.judge(target_turn, scores, annotators)
        spoken.append((role, text))
    rows.session(session_id, f"uss/{source}", language=LANGUAGES.get(source))
    for turn, (role, text) in enumerate(spoken):
        rows.utterance(session_id, turn, role, text)
    for i, score in enumerate(overall or ()):
        rows.rating(session_id, (RATER, TARGET), NAME, score, SCALE, annotator=str(i))
    labels.flush(rows, session_id)


def _parse(number: int, line: str) -> tuple[str, str, list[float]]:
    fields = line.split("\t")
    if len(fields) < 4:
        raise UnitError(
            f"line {number}: {len(fields)} tab-separated fields; ROLE, TEXT, ACTION and the scores are needed."
        )
    role, text, _, scores, *more = fields
    account.current().read("cells of explanations", len(more))
    account.current().left_out("cells of explanations", "no table holds them", len(more))
    if role not in (RATER, TARGET):
        raise UnitError(f"line {number}: role {shortened(role)!r}; allowed: {RATER}, {TARGET}.")
    return role, text, _scores(number, scores)


def _scores(number: int, scores: str) -> list[float]:
    try:
        values = [float(score) for score in scores.split(",")] if scores.strip() else []
    except ValueError:
        values = [math.nan]
    if not all(map(math.isfinite, values)):
        raise UnitError(f"line {number}: scores {shortened(scores)!r}; numbers with commas between them are needed.")
    return values
