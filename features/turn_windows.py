"""The stretches of time in which a person's behaviour answers a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apportion.corpus.session import Session, Turn
from apportion.features.time_series import Span

DURING, REPLY = "during", "reply"


@dataclass(frozen=True)
class TurnSpan:
    """One stretch of the session, in seconds; ``window`` is ``during`` the turn or the ``reply``, as in the tables."""

    turn: int
    window: str
    span: Span

    @property
    def length_s(self) -> float:
        """Length in seconds."""
        return self.span[1] - self.span[0]


def turn_spans(session: Session, person: str, reply_max_s: float) -> list[TurnSpan]:
    """Every such stretch of ``person``, in the order of the turns; turns without times have none.

    A reply is the person's next uninterrupted run of turns after someone else's turn, of which the first
    ``reply_max_s`` seconds count; the turns of third people before it are passed over.
    """
    spans = []
    for position, turn in enumerate(session.turns):
        span = _span([turn])
        if span is None:
            continue
        spans.append(TurnSpan(turn.turn, DURING, span))
        reply = None if turn.speaker == person else _span(_next_run(session.turns, position, person))
        if reply is not None:
            spans.append(TurnSpan(turn.turn, REPLY, (reply[0], min(reply[1], reply[0] + reply_max_s))))
    return spans


def floor_spans(session: Session, person: str) -> list[Span]:
    """The disjoint stretches, in order, in which ``person`` has the floor."""
    spans: list[Span] = []
    for span in sorted(s for s in (_span([t]) for t in session.turns if t.speaker == person) if s is not None):
        if spans and span[0] <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], span[1]))
        else:
            spans.append(span)
    return spans


def intersect(span: Span, spans: Sequence[Span]) -> list[Span]:
    """The parts of ``span`` that lie in the disjoint ``spans``."""
    parts = ((max(span[0], a), min(span[1], b)) for a, b in spans)
    return [(a, b) for a, b in parts if b > a]


def _next_run(turns: Sequence[Turn], position: int, person: str) -> list[Turn]:
    run: list[Turn] = []
    for turn in turns[position + 1 :]:
        if turn.speaker == person:
            run.append(turn)
        elif run:
            break
    return run


def _span(turns: Sequence[Turn]) -> Span | None:
    starts = [t.start_s for t in turns if t.start_s is not None]
    ends = [t.end_s for t in turns if t.end_s is not None]
    if not turns or len(starts) < len(turns) or len(ends) < len(turns):
        return None
    return min(starts), max(ends)
