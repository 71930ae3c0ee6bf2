"""What was found as Markdown: for the terminal, a file and whoever reads it there."""

from __future__ import annotations

from apportion.evaluation.error_slices.result import FAMILIES, ErrorSlices, Slice
from apportion.foundation.intervals.estimate import IntervalEstimate
from apportion.foundation.tables.grid import Grid
from apportion.foundation.tables.markdown import escaped
from apportion.foundation.tables.numbers import NO_FIGURE, fixed, p_value

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
        where = escaped(f"{example.id.episode[0]}, turn {example.id.turn}")
        lines.append(f"- {where} ({fixed(example.reward, 3, sign=True)}): {escaped(example.text[:LONGEST])}")
    return "\n".join(lines)
