"""What two policies answered to the same contexts, the most different answers first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from apportion.corpus.schema import RESPONSES
from apportion.foundation.html.text import clean
from apportion.rlhf.compare.responses import read_rows
from apportion.viewer.comparisons.value_sources import Stamp, stamp
from apportion.viewer.data.listing import Page

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Answered:
    """Two responses to one context; ``apart`` is the share of their words that the other has not (0 alike, 1 none)."""

    session_id: str
    turn: int
    seed: int
    context: str
    first: str
    second: str
    apart: float


def policies_in(path: Path) -> tuple[str, ...]:
    """The policies in a table of responses; raises InputError where it cannot be read."""
    return tuple(sorted({row["policy"] for row in _rows(stamp(path))}))


def answered(path: Path, first: str, second: str) -> tuple[Answered, ...]:
    """All contexts that both policies answered with the same seed."""
    of: dict[str, dict[tuple[str, int, int], dict[str, Any]]] = {first: {}, second: {}}
    for row in _rows(stamp(path)):
        if row["policy"] in of:
            of[row["policy"]][row["session_id"], row["turn"], row["seed"]] = row
    shared = sorted(of[first].keys() & of[second].keys())
    return tuple(
        Answered(
            *key, of[first][key]["context"], (mine := of[first][key]["response"]),
            (theirs := of[second][key]["response"]), words_apart(mine, theirs),
        )
        for key in shared
    )  # fmt: skip


def words_apart(one: str, other: str) -> float:
    """1 - 2 |A and B| / (|A| + |B|) of two texts' words, each as often as it stands there (Dice's distance).

    >>> words_apart("At nine.", "at Nine!"), words_apart("At nine.", "at ten")
    (0.0, 0.5)
    """
    mine, theirs = (Counter(_WORD.findall(text.casefold())) for text in (one, other))
    total = mine.total() + theirs.total()
    return 1.0 - 2.0 * (mine & theirs).total() / total if total else 0.0


@lru_cache(maxsize=2)
def _rows(file: Stamp) -> list[dict[str, Any]]:
    return read_rows(Path(file[0]), RESPONSES).to_pylist()  # type: ignore[no-any-return]


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
