"""From `utterance_features` to the rater's behaviour in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pyarrow as pa

from corpus.schema import DESCRIPTORS
from corpus.session import Session
from features.names import FEATURES, VOICE_FEATURES
from features.settings import DescriptorSettings, DescriptorThresholds
from features.spans import DURING, REPLY
from features.words.baseline import Baseline, Measure, baselines
from features.words.figures import in_json, in_numbers
from features.words.phrases import in_words

Cells = Mapping[tuple[int, str, str], Mapping[str, Measure]]
"""Measures by feature for every (turn, person, window)."""


def describe_session(session: Session, utterance_features: pa.Table, settings: DescriptorSettings) -> pa.Table:
    """Say in words how each rater behaved during the target's turns and in their next reply.

    Everything is relative to the rater's own mean and standard deviation over the session: the voice over their own
    turns, the face over all turns. Behaviour that was not observed well enough (no face, no voice) is left out, and a
    window of which nothing can be said has no row. As figures (``numeric``, ``json``) a reply to several turns of the
    target has one row, at the last of them, which names them all. Only who rated whom is read from the ratings, never a
    score.

    Returns the ``descriptors`` table, ordered by turn, rater and window. Source: language descriptors and the focus
    on the listener of LLM-GELI section 5.1.
    """
    cells = _cells(session.session_id, utterance_features)
    speakers = {turn.turn: turn.speaker for turn in session.turns}
    pairs = sorted({(r.rater, r.target) for r in session.ratings if r.rater != r.target})
    usual = {rater: _usual(rater, cells, speakers, settings.thresholds) for rater in {rater for rater, _ in pairs}}
    rows = []
    for turn in session.turns:
        for rater in (rater for rater, target in pairs if target == turn.speaker):
            answered = () if settings.variant == "words" else _answered(session, turn.turn, rater)
            for window in (DURING, REPLY):
                if window == REPLY and answered and answered[-1] != turn.turn:
                    continue  # Told at the last turn that the reply answers.
                measures = _usable(cells.get((turn.turn, rater, window), {}), settings.thresholds)
                text = _render(measures, usual[rater], settings, answered if window == REPLY else ())
                if text is not None:
                    rows.append((session.session_id, turn.turn, rater, window, text))
    columns = zip(*rows, strict=True) if rows else [()] * len(DESCRIPTORS.arrow)
    arrays = [pa.array(list(c), field.type) for c, field in zip(columns, DESCRIPTORS.arrow, strict=True)]
    return pa.table(arrays, schema=DESCRIPTORS.arrow)


def _answered(session: Session, number: int, rater: str) -> tuple[int, ...]:
    """The turns of the speaker of turn ``number`` that the rater's next reply answers together; none where it is one of
    them alone."""
    speaker = next(turn.speaker for turn in session.turns if turn.turn == number)
    together: list[int] = []
    for turn in session.turns:
        if turn.speaker == rater:
            if number in together:
                break
            together = []
        elif turn.speaker == speaker and turn.start_s is not None and turn.end_s is not None:
            together.append(turn.turn)
    return tuple(together) if number in together and len(together) > 1 else ()


def _render(
    measures: Mapping[str, Measure],
    usual: Mapping[str, Baseline],
    settings: DescriptorSettings,
    answered: Sequence[int],
) -> str | None:
    if settings.variant == "numeric":
        return in_numbers(measures, usual, answered)
    if settings.variant == "json":
        return in_json(measures, usual, answered)
    return in_words(measures, usual, settings.thresholds)


def _cells(session_id: str, table: pa.Table) -> dict[tuple[int, str, str], dict[str, Measure]]:
    cells: dict[tuple[int, str, str], dict[str, Measure]] = {}
    for row in table.to_pylist():
        if row["session_id"] == session_id:
            cell = cells.setdefault((row["turn"], row["person"], row["window"]), {})
            cell[row["feature"]] = Measure(row["mean"], row["coverage"] or 0.0)
    return cells


def _usual(
    person: str, cells: Cells, speakers: Mapping[int, str], thresholds: DescriptorThresholds
) -> dict[str, Baseline]:
    """The person's baselines: the voice while they have the floor, the face all the time."""
    utterances = []
    for (turn, who, window), cell in cells.items():
        if who == person and window == DURING:
            speaking = speakers.get(turn) == person
            measures = _usable(cell, thresholds)
            utterances.append({name: m for name, m in measures.items() if speaking or name not in VOICE_FEATURES})
    return baselines(utterances, thresholds.baseline_utterances)


def _usable(cell: Mapping[str, Measure], thresholds: DescriptorThresholds) -> dict[str, Measure]:
    """The measures that were observed well enough.

    A voice's loudness counts only where the voice itself sounds; where pitch was never measured (imported features),
    its own coverage has to do. Features that are not ours (other columns of imported files) are never told.
    """
    voiced = cell["f0_hz"].coverage if "f0_hz" in cell else 1.0
    usable = {}
    for name, measure in cell.items():
        voice = name in VOICE_FEATURES
        coverage = min(measure.coverage, voiced) if voice else measure.coverage
        seen = measure.mean is not None and math.isfinite(measure.mean)
        if name in FEATURES and seen and coverage >= (thresholds.voice_coverage if voice else thresholds.face_coverage):
            usable[name] = measure
    return usable
