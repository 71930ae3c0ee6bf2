"""Two policies' answers beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.report.text import clean
from viewer.reading.compared.policies import Answered

PAGE, TEXT, SHOWN = 20, 4_000, 3
"""Contexts a page, characters of a text, messages of a context that are shown at once."""


@dataclass(frozen=True)
class AnsweredRow:
    """A context, the end of it at once and what was before it folded, with both answers."""

    session_id: str
    slug: str
    turn: int
    before: tuple[str, ...]
    context: tuple[str, ...]
    first: str
    second: str
    apart: str
    share: float


@dataclass(frozen=True)
class PoliciesView:
    """A page of contexts; ``same`` of the ``found`` have the same answer twice."""

    rows: tuple[AnsweredRow, ...]
    found: int
    same: int
    mean: str
    page: int
    pages: int


def policies_view(found: Sequence[Answered], slugs: Mapping[str, str], page: int) -> PoliciesView:
    """The page, the most different answers first."""
    ordered = sorted(found, key=lambda one: (-one.apart, one.session_id, one.turn, one.seed))
    pages = max(1, -(-len(ordered) // PAGE))
    page = min(max(1, page), pages)
    return PoliciesView(
        rows=tuple(_row(one, slugs.get(one.session_id, "")) for one in ordered[PAGE * (page - 1) : PAGE * page]),
        found=len(ordered),
        same=sum(one.first == one.second for one in ordered),
        mean=f"{sum(one.apart for one in ordered) / len(ordered):.0%}" if ordered else "–",
        page=page,
        pages=pages,
    )


def _row(one: Answered, slug: str) -> AnsweredRow:
    lines = [clean(line, TEXT) for line in one.context.split("\n")]
    return AnsweredRow(
        session_id=clean(one.session_id, 120),
        slug=slug,
        turn=one.turn,
        before=tuple(lines[:-SHOWN]),
        context=tuple(lines[-SHOWN:]),
        first=clean(one.first, TEXT),
        second=clean(one.second, TEXT),
        apart=f"{one.apart:.0%}",
        share=one.apart,
    )
