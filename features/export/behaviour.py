"""One session's utterances, behaviour and descriptors as tiers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.session import TALK_KINDS, Session
from apportion.features.events import BLINK, LAUGHTER
from apportion.features.export.tiers import Interval, Tier, interval, make_tiers
from apportion.features.registry import FEATURES, has_events, is_voice
from apportion.features.turn_windows import DURING, turn_spans

UTTERANCE = "utterance"
DESCRIPTOR = "descriptor"
ON = 0.5
"""From this value of a frame on, a feature that is on or off is on."""
HOLD_FRAMES = 2.5
"""A gap of more than this many frames is unobserved time, and ends an interval."""
LONE_FRAME_S = 0.1
DRAWN_EVENTS = (*TALK_KINDS, BLINK, LAUGHTER)

Content = tuple[str, str, list[Interval]]


@dataclass(frozen=True)
class SessionTiers:
    """The tiers of one session; ``untimed`` counts its turns without usable times, which no tier shows."""

    tiers: tuple[Tier, ...]
    untimed: int

    @property
    def end_ms(self) -> int:
        """Where the last interval ends."""
        return max((item.end_ms for tier in self.tiers for item in tier.intervals), default=0)


def session_tiers(
    session: Session,
    utterance_features: pa.Table | None,
    descriptors: pa.Table | None,
    frames: pa.Table | None,
    reply_max_s: float,
    events: pa.Table | None = None,
) -> SessionTiers:
    """Tiers of one session, in this order: a tier a speaker; a tier a person and feature; the descriptors.

    Features that are on or off are intervals where they are on, from ``frames``. Every other feature has an interval
    an utterance, whose text is the mean: the voice in the person's own turns, the rest in everybody's. ``events`` that
    no feature shows (`DRAWN_EVENTS`) are intervals, too, of the words that were said or their kind.
    Descriptors have a tier a rater and window. Tables are of ``apportion.corpus.schema``; None and other sessions' rows
    give no tiers.
    """
    spoken = {turn.turn: interval(turn.start_s, turn.end_s, turn.text) for turn in session.turns}
    contents: list[Content] = []
    for speaker in sorted({turn.speaker for turn in session.turns}):
        spoken_by = (spoken[turn.turn] for turn in session.turns if turn.speaker == speaker)
        contents.append((UTTERANCE, speaker, [item for item in spoken_by if item is not None]))
    behaviour = [*_means(session, utterance_features), *_states(session, frames), *_events(session, events)]
    order = {name: position for position, name in enumerate(FEATURES)}
    contents += sorted(behaviour, key=lambda content: (content[1], order.get(content[0], len(order)), content[0]))
    contents += _descriptions(session, descriptors, reply_max_s)
    return SessionTiers(tuple(make_tiers(contents)), sum(item is None for item in spoken.values()))


def _rows(session: Session, table: pa.Table | None) -> pa.Table | None:
    if table is None:
        return None
    rows = table.filter(pc.equal(table["session_id"], session.session_id))
    return rows if rows.num_rows else None


def _means(session: Session, table: pa.Table | None) -> list[Content]:
    """A content a person and feature that has a mean over utterances."""
    rows = _rows(session, table)
    turns = {turn.turn: turn for turn in session.turns}
    states = _state_names()
    intervals: dict[tuple[str, str], list[Interval]] = {}
    for row in _dicts(rows):
        turn, feature, mean = turns.get(row["turn"]), row["feature"], row["mean"]
        if turn is None or row["window"] != DURING or feature in states or mean is None or has_events(feature):
            continue
        if is_voice(feature) and turn.speaker != row["person"]:
            continue
        item = interval(turn.start_s, turn.end_s, f"{mean:.4g}")
        if item is not None:
            intervals.setdefault((feature, row["person"]), []).append(item)
    return [(feature, person, items) for (feature, person), items in intervals.items()]


def _states(session: Session, table: pa.Table | None) -> Iterator[Content]:
    """A content a person and feature that is on or off."""
    rows = _rows(session, table)
    if rows is None:
        return
    states = _state_names()
    rows = rows.filter(pc.is_in(rows["feature"], pa.array(states)))
    for person in sorted(set(rows["person"].to_pylist())):
        theirs = rows.filter(pc.equal(rows["person"], person))
        for feature in states:
            series = theirs.filter(pc.equal(theirs["feature"], feature))
            times = series["time_s"].to_numpy()
            order = np.argsort(times, kind="stable")
            values = series["value"].to_numpy(zero_copy_only=False).astype(np.float64)
            yield feature, person, _where_on(feature, times[order], values[order])


def _events(session: Session, table: pa.Table | None) -> list[Content]:
    """A content a person and kind of `DRAWN_EVENTS`."""
    intervals: dict[tuple[str, str], list[Interval]] = {}
    for row in _dicts(_rows(session, table)):
        item = interval(row["start_s"], row["end_s"], row["text"] or row["kind"])
        if row["kind"] in DRAWN_EVENTS and item is not None:
            intervals.setdefault((row["kind"], row["person"]), []).append(item)
    return [(kind, person, items) for (kind, person), items in sorted(intervals.items())]


def _state_names() -> list[str]:
    return [row.name for row in FEATURES.values() if row.states]


def _where_on(feature: str, times_s: Any, values: Any) -> list[Interval]:
    """Intervals in which ``values`` [F] at ``times_s`` [F] are on; each frame reaches half a frame to both sides."""
    if not len(times_s):
        return []
    step_s = float(np.median(np.diff(times_s))) if len(times_s) > 1 else LONE_FRAME_S
    on = values >= ON  # False where not a number
    breaks = np.flatnonzero((np.diff(times_s) > HOLD_FRAMES * step_s) | (on[1:] != on[:-1])) + 1
    intervals = []
    for first, stop in pairwise([0, *breaks.tolist(), len(times_s)]):
        if on[first]:
            intervals.append(interval(times_s[first] - step_s / 2, times_s[stop - 1] + step_s / 2, feature))
    return [item for item in intervals if item is not None]


def _descriptions(session: Session, table: pa.Table | None, reply_max_s: float) -> list[Content]:
    """A content a rater and window; a reply that answers several turns is told once."""
    rows = _rows(session, table)
    spans: dict[str, dict[tuple[int, str], tuple[float, float]]] = {}
    intervals: dict[tuple[str, str], list[Interval]] = {}
    for row in _dicts(rows):
        person, window = row["person"], row["window"]
        if person not in spans:
            spans[person] = {(s.turn, s.window): s.span for s in turn_spans(session, person, reply_max_s)}
        span = spans[person].get((row["turn"], window))
        item = interval(*span, row["text"]) if span is not None else None
        if item is not None:
            intervals.setdefault((person, window), []).append(item)
    # ``during`` comes before ``reply`` in the alphabet, too.
    return [(f"{DESCRIPTOR} {window}", person, intervals[person, window]) for person, window in sorted(intervals)]


def _dicts(rows: pa.Table | None) -> list[dict[str, Any]]:
    return [] if rows is None else rows.to_pylist()
