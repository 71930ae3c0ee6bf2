"""From `utterance_features` to the rater's behaviour in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from apportion.corpus.schema import DESCRIPTORS
from apportion.corpus.session import ENVIRONMENT, Session
from apportion.features.registry import FEATURES, has_events, is_face, is_voice
from apportion.features.settings import DescriptorSettings, DescriptorThresholds
from apportion.features.talk import Talk
from apportion.features.turn_windows import DURING, REPLY, turn_spans
from apportion.features.verbalization.numeric import in_json, in_numbers
from apportion.features.verbalization.phrases import in_words
from apportion.features.verbalization.zscore import Baseline, Measure, NormalizedFeature, baselines

Cells = Mapping[tuple[int, str, str], Mapping[str, Measure]]
"""Measures by feature for every (turn, person, window)."""


def describe_session(
    session: Session,
    utterance_features: pa.Table,
    settings: DescriptorSettings,
    detector: str | None = None,
    reply_max_s: float = math.inf,
) -> pa.Table:
    """Say in words how each rater behaved during the target's turns and in their next reply.

    What happened is told for itself ("smiles throughout") and beside the rater's own mean and standard deviation over
    the session ("more than usual"): the voice over their own turns, the face over all turns. Behaviour that was not
    observed well enough (no face, no voice) is left out, and a window of which nothing can be said has no row; a face
    that is seen elsewhere in the session is told as not seen. A reply to several turns of the target has one row, at
    the last of them, which names them all. ``detector`` is the back-end that found the faces
    (``FeatureSettings.detector``; None where that is not known): not everything that each of them measures is told.
    ``reply_max_s`` seconds of a reply were measured.
    Only who rated whom is read from the ratings, never a score; where the environment rated, nobody is described.

    Returns the ``descriptors`` table, ordered by turn, rater and window. Source: language descriptors and the focus
    on the listener of LLM-GELI section 5.1.
    """
    cells = _cells(session.session_id, utterance_features)
    speakers = {turn.turn: turn.speaker for turn in session.turns}
    pairs = sorted({(r.rater, r.target) for r in session.ratings if r.rater not in (r.target, ENVIRONMENT)})
    raters = {
        rater: _Rater.of(rater, cells, speakers, settings.thresholds, _detector_of(session, rater, detector))
        for rater in {rater for rater, _ in pairs}
    }
    spans = {
        (span.turn, rater, span.window): span for rater in raters for span in turn_spans(session, rater, reply_max_s)
    }
    talk = {rater: Talk(rater, session) for rater in raters}
    rows = []
    for turn in session.turns:
        for rater in (rater for rater, target in pairs if target == turn.speaker):
            answered = _answered(session, turn.turn, rater)
            for window in (DURING, REPLY):
                if window == REPLY and answered and answered[-1] != turn.turn:
                    continue  # Told at the last turn that the reply answers.
                at = (turn.turn, rater, window)
                length_s = spans[at].length_s if at in spans else math.inf
                observed = raters[rater].in_window(cells.get(at, {}), window, length_s)
                if at in spans:
                    observed = replace(observed, said=talk[rater].heard([spans[at].span]))
                text = _render(observed, settings, answered if window == REPLY else ())
                if text is not None:
                    rows.append((session.session_id, turn.turn, rater, window, text, raters[rater].detector))
    columns = zip(*rows, strict=True) if rows else [()] * len(DESCRIPTORS.arrow)
    arrays = [pa.array(list(c), field.type) for c, field in zip(columns, DESCRIPTORS.arrow, strict=True)]
    return pa.table(arrays, schema=DESCRIPTORS.arrow)


@dataclass(frozen=True)
class _Rater:
    """What is usual for one rater, whether their face is ever seen, and what found it."""

    usual: Mapping[str, Baseline]
    is_seen: bool
    detector: str | None
    thresholds: DescriptorThresholds

    @classmethod
    def of(
        cls,
        rater: str,
        cells: Cells,
        speakers: Mapping[int, str],
        thresholds: DescriptorThresholds,
        detector: str | None,
    ) -> _Rater:
        own = [cell for (_, person, _), cell in cells.items() if person == rater]
        is_seen = any(_is_seen(cell, thresholds) for cell in own)
        return cls(_usual(rater, cells, speakers, thresholds), is_seen, detector, thresholds)

    def in_window(self, cell: Mapping[str, Measure], window: str, length_s: float) -> NormalizedFeature:
        """What of ``cell`` (a window of this rater, ``length_s`` seconds long) was observed well enough."""
        measures = _usable(cell, self.thresholds)
        if window == REPLY:
            measures = {name: measure for name, measure in measures.items() if not FEATURES[name].of_listener}
        filmed = any(name in FEATURES and FEATURES[name].states for name in cell)
        hidden = filmed and self.is_seen and not _is_seen(cell, self.thresholds)
        return NormalizedFeature(measures, self.usual, hidden, self.detector, length_s, speaks=window == REPLY)


def _detector_of(session: Session, person: str, detector: str | None) -> str | None:
    """What found this person's face; None where nobody looked, or where their behaviour came with the corpus."""
    kinds = {media.kind for media in session.media if media.speaker == person}
    return detector if "video" in kinds and "features" not in kinds else None


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


def _render(observed: NormalizedFeature, settings: DescriptorSettings, answered: Sequence[int]) -> str | None:
    if settings.variant == "numeric":
        return in_numbers(observed.measures, observed.usual, answered)
    if settings.variant == "json":
        return in_json(observed.measures, observed.usual, answered)
    return in_words(observed, settings.thresholds, answered)


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
    """The person's baselines: the voice while they have the floor, an open mouth while not, the rest always."""
    utterances = []
    for (turn, who, window), cell in cells.items():
        if who == person and window == DURING:
            speaking = speakers.get(turn) == person
            rows = {name: (FEATURES[name], measure) for name, measure in _usable(cell, thresholds).items()}
            utterances.append(
                {
                    n: m
                    for n, (row, m) in rows.items()
                    if not has_events(n) and not (row.of_listener if speaking else row.track == "voice")
                }
            )
    return baselines(utterances, thresholds.baseline_utterances)


def _is_seen(cell: Mapping[str, Measure], thresholds: DescriptorThresholds) -> bool:
    """Whether the face was seen well enough for anything to be told of it."""
    return any(is_face(name) for name in _usable(cell, thresholds))


def _usable(cell: Mapping[str, Measure], thresholds: DescriptorThresholds) -> dict[str, Measure]:
    """The measures that were observed well enough.

    A voice's loudness counts only where the voice itself sounds; where pitch was never measured (imported features),
    its own coverage has to do. Features that are not ours (other columns of imported files) are never told.
    """
    voiced = cell["f0_hz"].coverage if "f0_hz" in cell else 1.0
    usable = {}
    for name, measure in cell.items():
        voice = is_voice(name)
        coverage = min(measure.coverage, voiced) if voice else measure.coverage
        seen = measure.mean is not None and math.isfinite(measure.mean)
        if name in FEATURES and seen and coverage >= (thresholds.voice_coverage if voice else thresholds.face_coverage):
            usable[name] = measure
    return usable
