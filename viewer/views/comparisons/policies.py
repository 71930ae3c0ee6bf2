"""Two policies' answers beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apportion.foundation.html.text import clean
from apportion.viewer.data.comparisons.policies import Answered
from apportion.viewer.data.paging import Page

PAGE, TEXT, SHOWN = 20, 4_000, 3
"""Contexts a page, characters of a text, messages of a context that are shown at once."""


def most_different(found: Sequence[Answered]) -> list[Answered]:
    """The most different answers first."""
    return sorted(found, key=lambda one: (-one.apart, one.session_id, one.turn, one.seed))


def policies_view(ordered: Sequence[Answered], slugs: Mapping[str, str], page: Page) -> dict[str, Any]:
    """The page of the answers in their order."""
    return {
        "rows": tuple(_row(one, slugs.get(one.session_id, "")) for one in page.cut(ordered)),
        "found": len(ordered),
        "same": sum(one.first == one.second for one in ordered),
        "mean": f"{sum(one.apart for one in ordered) / len(ordered):.0%}" if ordered else "–",
        "page": page,
    }


def _row(one: Answered, slug: str) -> dict[str, Any]:
    lines = [clean(line, TEXT) for line in one.context.split("\n")]
    return {
        "session_id": clean(one.session_id, 120),
        "slug": slug,
        "turn": one.turn,
        "before": tuple(lines[:-SHOWN]),
        "context": tuple(lines[-SHOWN:]),
        "first": clean(one.first, TEXT),
        "second": clean(one.second, TEXT),
        "apart": f"{one.apart:.0%}",
        "share": one.apart,
    }
