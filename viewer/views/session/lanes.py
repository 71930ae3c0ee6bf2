"""Who speaks when: a lane a person, and where two speak at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion.corpus.session import Session
from apportion.viewer.views.session.axis import Axis
from apportion.viewer.views.session.people import Person

LEAST_OVERLAP_S = 0.05
"""Less is how transcripts are cut, not people who speak at once."""


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
