"""What two policies answered to the same contexts, the most different answers first."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from apportion.corpus.schema import RESPONSES
from apportion.rlhf.compare.responses import read_rows
from apportion.viewer.data.comparisons.value_sources import Stamp, stamp

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
