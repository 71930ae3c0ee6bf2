"""The axis that lanes, rewards and tracks of a session share: seconds where turns have times, else their order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from apportion.corpus.session import Session
from apportion.features.talk import LEAST_OVERLAP_S
from apportion.viewer.views.session.people import Person

STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)
STEPS_TURNS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
MOST_TICKS = 10
GAP = 0.12
"""Of a turn's place, where turns stand in order: left empty, so that neighbours are told apart."""


@dataclass(frozen=True)
class Axis:
    """From ``start`` to ``end`` seconds of the session, or turns in their order; ``spans`` is where each turn stands.

    >>> Axis("turn", 0.0, 4.0, {}).at(1.0)
    25.0
    """

    unit: Literal["s", "turn"]
    start: float
    end: float
    spans: Mapping[int, tuple[float, float]]

    @property
    def timed(self) -> bool:
        """Whether it counts seconds."""
        return self.unit == "s"

    def at(self, value: float) -> float:
        """A place as per cent of the whole, 0 to 100."""
        share = (value - self.start) / (self.end - self.start)
        return 100.0 * min(1.0, max(0.0, share))

    def place(self, turn: int) -> tuple[float, float] | None:
        """Where a turn begins and how wide it is, per cent; None for a turn without a time."""
        span = self.spans.get(turn)
        if span is None:
            return None
        left = self.at(span[0])
        return left, self.at(span[1]) - left

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """At most about ten round places, per cent, and what is written there."""
        length = self.end - self.start
        steps = STEPS_S if self.timed else STEPS_TURNS
        step = next((step for step in steps if length / step <= MOST_TICKS), None)
        step = step or steps[-1] * math.ceil(length / steps[-1] / MOST_TICKS)
        if self.timed:
            places = [self.start + step * n for n in range(int(length / step) + 1)]
            return tuple((self.at(place), clock(place)) for place in places)
        turns = list(self.spans)
        return tuple((self.at(n + 0.5), str(turns[n])) for n in range(0, len(turns), step))


def axis_of(session: Session) -> Axis:
    """The axis of a session; its length is that of the session, or its last turn's end."""
    spans = {
        turn.turn: (turn.start_s, max(turn.start_s, turn.end_s))
        for turn in session.turns
        if turn.start_s is not None and turn.end_s is not None
    }
    if spans:
        last = max(end for _, end in spans.values())
        return Axis("s", 0.0, max(session.duration_s or 0.0, last, 0.001), spans)
    order = {turn.turn: (n + GAP / 2, n + 1 - GAP / 2) for n, turn in enumerate(session.turns)}
    return Axis("turn", 0.0, float(max(1, len(order))), order)


def clock(value_s: float) -> str:
    """Seconds as a person reads a player: ``0:07``, ``12:30``, ``1:02:03``."""
    hours, rest = divmod(max(0, math.floor(value_s)), 3600)
    minutes, second = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{second:02d}" if hours else f"{minutes}:{second:02d}"


@dataclass(frozen=True)
class Block:
    """A turn in a lane: ``left`` and ``width`` in per cent of the axis."""

    turn: int
    left: float
    width: float


@dataclass(frozen=True)
class Lane:
    """What one person says, in time."""

    person: Person
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Overlap:
    """Two people at once: ``turn`` begins while ``over`` is still being said, for ``length_s`` seconds."""

    turn: int
    over: int
    start_s: float
    length_s: float
    left: float
    width: float


def lanes_of(session: Session, axis: Axis, people: Mapping[str, Person]) -> tuple[Lane, ...]:
    """A lane for everybody who speaks, in the order of ``people``."""
    blocks: dict[str, list[Block]] = {speaker: [] for speaker in people}
    for turn in session.turns:
        place = axis.place(turn.turn)
        if place is not None:
            blocks[turn.speaker].append(Block(turn.turn, *place))
    return tuple(Lane(people[speaker], tuple(own)) for speaker, own in blocks.items() if own)


def overlaps_of(session: Session, axis: Axis) -> tuple[Overlap, ...]:
    """Where turns of two people overlap, in the order in which the later of the two begins.

    A turn that several others are still being said over is told against the one that goes on longest.
    """
    if not axis.timed:
        return ()
    speakers = {turn.turn: turn.speaker for turn in session.turns}
    spans = sorted((start, end, turn) for turn, (start, end) in axis.spans.items())
    found, still = [], list[tuple[float, int]]()
    for start, end, turn in spans:
        still = [(until, other) for until, other in still if until > start]
        others = [(until, other) for until, other in still if speakers[other] != speakers[turn]]
        if others:
            until, other = max(others)
            length = min(until, end) - start
            if length >= LEAST_OVERLAP_S:
                left = axis.at(start)
                found.append(Overlap(turn, other, start, length, left, axis.at(start + length) - left))
        still.append((end, turn))
    return tuple(found)
