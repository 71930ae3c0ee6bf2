"""What was found: kinds of turn whose rewards differ in both halves, each with what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from apportion.evaluation.error_slices.turns import TurnId
from apportion.foundation.intervals.estimate import IntervalEstimate
from apportion.foundation.tables.grid import Grid
from apportion.foundation.tables.markdown import escaped
from apportion.foundation.tables.numbers import NO_FIGURE, fixed, p_value

Family = Literal["words", "cue", "place"]
FAMILIES: dict[Family, str] = {"words": "what is said", "cue": "how it is said", "place": "where it is said"}


@dataclass(frozen=True)
class SliceSettings:
    """How kinds are looked for.

    - ``alpha``: the chance of showing any kind at all where rewards have nothing to do with the turns.
    - ``fewest_sessions``: a kind needs as many effective sessions in either half
      (`apportion.evaluation.error_slices.turns.SliceContrasts`).
    - ``largest_share``: a cluster of more of all turns than this is no kind, but usual.
    - ``examples``: turns that are shown of a kind, at most.
    - ``seed``, ``resamples``, ``confidence``: of the halves and clusters, and of the intervals.
    """

    alpha: float = 0.05
    fewest_sessions: float = 12.0
    largest_share: float = 1 / 3
    examples: int = 6
    seed: int = 0
    resamples: int = 2000
    confidence: float = 0.95


@dataclass(frozen=True)
class Example:
    """A turn of a kind: where it is, what was said, what it was worth."""

    session_id: str
    rater: str
    target: str
    name: str
    turn: int
    text: str
    reward: float

    @property
    def id(self) -> TurnId:
        """Where it is."""
        return TurnId((self.session_id, self.rater, self.target, self.name), self.turn)


@dataclass(frozen=True)
class Slice:
    """A kind of turn that holds in the other half; every figure but ``found`` is of that half.

    A turn that several kinds fit counts for the one that stands out most.

    - ``family``: what tells the kind: its ``words`` (a cluster), a ``cue`` or its ``place``.
    - ``name``: its words, or the cue or place.
    - ``difference``: mean reward less that of the other turns of the same conversations, with its interval by session.
      Turns of kinds that stand out more are left aside.
    - ``p``: of that difference, after Holm's correction for all that was tried in this half.
    - ``found``: the same difference in the half that it was found on.
    - ``turns``, ``reward``: how many there are, and their mean reward.
    - ``sessions``: the share of sessions that have such a turn.
    - ``score``: mean score of the sessions that have one less that of the others; None where all or none have one, or
      no score.
    - ``named``, ``named_elsewhere``: the share of its turns that hold one of its words, and of all others that do; None
      where words do not tell it.
    - ``mostly``: cues and places that most of its turns have and most others have not.
    - ``examples``: of a cluster those nearest to its middle, else those whose reward is nearest to the kind's.
    """

    family: Family
    name: str
    difference: IntervalEstimate
    p: float
    found: float
    turns: int
    reward: float
    sessions: IntervalEstimate
    score: IntervalEstimate | None
    named: float | None
    named_elsewhere: float | None
    mostly: tuple[str, ...]
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class ErrorSlices:
    """The kinds of one method's rewards, the dearest first.

    - ``method``: whose rewards.
    - ``sessions``: of the half that was searched, and of the other.
    - ``turns``: the same of turns.
    - ``tried``, ``candidates``: how many kinds the first half was asked about, and how many went into the other.
    - ``reason``: why nothing could be looked for.
    - ``kinds``: those that held, by their difference, the lowest first.
    """

    method: str
    settings: SliceSettings
    sessions: tuple[int, int]
    turns: tuple[int, int]
    tried: int
    candidates: int
    reason: str | None = None
    kinds: tuple[Slice, ...] = ()

    @property
    def dear(self) -> tuple[Slice, ...]:
        """The kinds that are paid less than the rest of their conversations, the dearest first."""
        return tuple(kind for kind in self.kinds if kind.difference.value < 0)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> ErrorSlices:
        """What `to_json` gave; raises pydantic's ValidationError on anything else."""
        slices: ErrorSlices = _adapter().validate_python(plain)
        return slices

    def to_json(self) -> dict[str, Any]:
        """Plain values, as they are kept beside a run."""
        plain: dict[str, Any] = _adapter().dump_python(self, mode="json")
        return plain


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(ErrorSlices)


HEADER = (
    "kind of turn",
    "what tells it",
    "reward less the others'",
    "p",
    "sessions with one",
    "turns",
    "mean reward",
    "score of those sessions less the others'",
)
LONGEST = 200
NOTES = (
    "Reward less the others': mean reward of the kind less that of the other turns of the same conversations, turns of "
    "kinds that stand out more left aside, with its interval by session. All figures are of the half that a kind was "
    "not found on; p is Holm's.",
    "A kind is called by its commonest words that other turns lack: read examples before you believe the name.",
    "The rewards of both halves come from one method. What that method believes without reason holds in both, too: the "
    "last column asks the scores themselves.",
    "What goes with a low reward need not cause it.",
)


def markdown(slices: ErrorSlices) -> str:
    """The whole result as Markdown; what people said is escaped."""
    title = f"# What costs us, by {escaped(slices.method)}"
    if slices.reason is not None:
        return f"{title}\n\nNothing can be said: {escaped(slices.reason)}.\n"
    blocks = [title, summary(slices)]
    if slices.kinds:
        blocks.append(slice_grid(slices).markdown())
        blocks += [_examples(kind) for kind in slices.kinds]
        blocks.append("\n".join(f"- {note}" for note in NOTES))
    return "\n\n".join(blocks) + "\n"


def slice_grid(slices: ErrorSlices) -> Grid:
    """A row a kind."""
    return Grid(f"Kinds by {slices.method}", HEADER, tuple(map(row, slices.kinds)), NOTES)


def summary(slices: ErrorSlices) -> str:
    """How it was looked for, and how much held, in one paragraph."""
    first, second = slices.sessions
    held = len(slices.kinds)
    return (
        f"{sum(slices.turns):,} turns of {first + second:,} sessions. Of {slices.tried} kinds that were looked at "
        f"in {first:,} sessions, {slices.candidates} stood out; {held or 'none'} of them held in the other "
        f"{second:,}."
    )


def row(kind: Slice) -> tuple[str, ...]:
    """One kind as cells of the table."""
    return (
        kind.name[:LONGEST],
        FAMILIES[kind.family],
        kind.difference.text(3, sign=True),
        p_value(kind.p),
        share_text(kind.sessions),
        f"{kind.turns:,}",
        fixed(kind.reward, 3, sign=True),
        NO_FIGURE if kind.score is None else kind.score.text(2, sign=True),
    )


def share_text(share: IntervalEstimate) -> str:
    """A share with its interval, as percentages.

    >>> share_text(IntervalEstimate(0.5, 0.401, 0.6))
    '50% [40%, 60%]'
    """
    ends = "" if share.low is None or share.high is None else f" [{share.low:.0%}, {share.high:.0%}]"
    return f"{share.value:.0%}{ends}"


def told_by(kind: Slice) -> str:
    """How well its words tell the kind, and what else most of its turns have; empty where there is nothing to say."""
    parts = []
    if kind.named is not None and kind.named_elsewhere is not None:
        parts.append(f"{kind.named:.0%} of its turns hold one of these words, {kind.named_elsewhere:.0%} of all others")
    if kind.mostly:
        parts.append(f"mostly: {', '.join(kind.mostly)}")
    return "; ".join(parts)


def _examples(kind: Slice) -> str:
    told = told_by(kind)
    lines = [f"## {escaped(kind.name[:LONGEST])}", *([f"\n{escaped(told)}."] if told else []), ""]
    for example in kind.examples:
        where = escaped(f"{example.session_id}, turn {example.turn}")
        lines.append(f"- {where} ({fixed(example.reward, 3, sign=True)}): {escaped(example.text[:LONGEST])}")
    return "\n".join(lines)
