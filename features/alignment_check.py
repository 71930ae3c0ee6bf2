"""Whether what was recorded and what was said lie at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apportion.corpus.session import Media, Session
from apportion.features.time_series import Series, Span
from apportion.foundation.errors import UnitError

Measured = Sequence[tuple[Media, Sequence[Series]]]
"""Rows of the media table, each with the series that were measured in its recording."""


def check_overlap(session: Session, measured: Measured) -> None:
    """Refuse a session of which a recording holds no moment of any turn, so that nothing in it could be measured.

    A recording is all that was measured in one file at one ``offset_s``: its sound may begin after its picture. Turns
    without times, and recordings in which there is nothing, are not judged.

    Raises
    ------
    UnitError
        Names every such recording and its people, when it runs by the session's clock, and when the transcript does.
    """
    turns = [(t.start_s, t.end_s) for t in session.turns if t.start_s is not None and t.end_s is not None]
    rows: dict[tuple[str, float], list[Media]] = {}
    spans: dict[tuple[str, float], list[Span]] = {}
    for media, series in measured:
        key = (media.path, media.offset_s)
        rows.setdefault(key, []).append(media)
        spans.setdefault(key, []).extend((float(s.starts_s[0]), float(s.ends_s[-1])) for s in series if len(s.values))
    apart = {
        key: (min(start_s for start_s, _ in found), max(end_s for _, end_s in found))
        for key, found in spans.items()
        if turns and found and not any(_meet(span, turn) for span in found for turn in turns)
    }
    if apart:
        first_s, last_s = min(start_s for start_s, _ in turns), max(end_s for _, end_s in turns)
        told = "; ".join(_told(rows[key], span) for key, span in apart.items())
        raise UnitError(
            f"{told}; the transcript's turns lie from {first_s:.1f} to {last_s:.1f} s, and at none of them. Nothing in "
            "these recordings can be measured. Correct offset_s in the media table (session time of a recording's "
            "presentation time 0), or the transcript's times."
        )


def _meet(span: Span, turn: Span) -> bool:
    return span[0] < turn[1] and turn[0] < span[1]


def _told(rows: Sequence[Media], span: Span) -> str:
    whose: Mapping[str, None] = dict.fromkeys(f"{media.speaker}'s {media.kind}" for media in rows)
    return (
        f"{rows[0].path} ({', '.join(whose)}) runs from {span[0]:.1f} to {span[1]:.1f} s of the session "
        f"(offset_s = {rows[0].offset_s:g})"
    )
