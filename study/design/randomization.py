"""Who gets which items, in which order, under which letters: pure functions of the study's seed and the annotator's id.

Everything is ranked by sha256 of the seed, the annotator and what is ranked, so that a draw can be done again anywhere,
and no letter and no place in an order depends on whose a response is: ids of responses are opaque themselves.

- **Which items**: those that the fewest people have, ties by rank. Handed out so to one person after the other, two
  items differ by one person at most, and none is left short, in whatever order people come. What somebody has
  abandoned counts no more, and so goes to those who come next.
- **In which order**: by rank, with the attention checks among them, one in every so many items at a place drawn.
- **Under which letters**: by rank, anew for each annotator and item.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from apportion.study.design.items import Item, Response


def items_for(annotator: str, seed: int, load: Mapping[str, int], wanted: int, most: int) -> tuple[str, ...]:
    """The items that somebody gets who comes now, in the order in which they are shown.

    - ``annotator``: the annotator's id.
    - ``seed``: the study's.
    - ``load``: by item, how many people have answered it or are about to.
    - ``wanted``: how many people are to answer each item; none gets more.
    - ``most``: how many items the annotator gets at most.

    >>> items_for("a001", 7, {"i0001": 1, "i0002": 0, "i0003": 3}, wanted=3, most=1)
    ('i0002',)
    """
    short = [item for item, people in load.items() if people < wanted]
    chosen = sorted(short, key=lambda item: (load[item], _rank(seed, annotator, "chosen", item)))[:most]
    return tuple(sorted(chosen, key=lambda item: _rank(seed, annotator, "order", item)))


def with_checks(
    annotator: str, seed: int, items: Sequence[Item], checks: Sequence[Item], every: int
) -> tuple[str, ...]:
    """The items of an annotator with a check in each whole stretch of ``every`` items; ids, in their order.

    Checks on sessions that the annotator's items are not about come first; none comes twice.
    """
    sessions = {item.session_id for item in items}
    left = sorted(checks, key=lambda check: (check.session_id in sessions, _rank(seed, annotator, "check", check.item)))
    sequence = [item.item for item in items]
    stretches = min(len(items) // every, len(left)) if every else 0
    for stretch in reversed(range(stretches)):
        drawn = int.from_bytes(_rank(seed, annotator, "place", left[stretch].item)[:8]) % every
        sequence.insert(stretch * every + drawn + 1, left[stretch].item)
    return tuple(sequence)


def lettered(annotator: str, seed: int, item: Item) -> tuple[Response, ...]:
    """An item's responses as one annotator sees them: the first is A, the next B, and so on."""
    return tuple(sorted(item.responses, key=lambda one: _rank(seed, annotator, item.item, one.id)))


def _rank(seed: int, *what: str) -> bytes:
    return hashlib.sha256("\0".join([str(seed), *what]).encode()).digest()
