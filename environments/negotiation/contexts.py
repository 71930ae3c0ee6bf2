"""What is shared out and what it is worth to each: the contexts of Deal or No Deal (Lewis et al., 2017)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from random import Random

from apportion.corpus.files.textfile import read_bytes
from apportion.foundation.errors import InputError

ITEMS = ("book", "hat", "ball")
"""What the three items are called, in the order of all counts, values and splits."""
SEATS = 2
FEWEST, MOST = 1, 4
"""Of one item."""
FEWEST_IN_ALL, MOST_IN_ALL = 5, 7
WORTH = 10
"""Of the whole pool, to each seat."""

Counts = tuple[int, int, int]
"""How many there are of each item; also a split: how many of each its speaker keeps."""


@dataclass(frozen=True)
class Context:
    """One pool of items, and what a single one of each is worth to seat 0 and to seat 1.

    ``counts``: How many there are of each of `ITEMS`. ``values``: By seat, points for a single one of each; known to
    that seat alone.

    >>> Context((1, 3, 1), ((3, 1, 4), (3, 2, 1))).check()
    >>> Context((1, 3, 1), ((3, 1, 4), (3, 2, 1))).worth(0, (1, 2, 1))
    9
    """

    counts: Counts
    values: tuple[tuple[int, ...], tuple[int, ...]]

    def worth(self, seat: int, taken: Counts) -> int:
        """Points of ``taken`` items to a seat."""
        a, b, c = self.values[seat]
        return a * taken[0] + b * taken[1] + c * taken[2]

    def check(self) -> None:
        """Hold the context to the task's constraints, which all 4,086 published contexts meet.

        Raises InputError: One of them is broken; the text names the value.
        """
        problem = broken(self)
        if problem is not None:
            raise InputError(f"context {self.counts}, {self.values}: {problem}")


@lru_cache(maxsize=8192)
def broken(context: Context) -> str | None:
    """The first constraint that a context breaks, in words; None: none."""
    counts, values = context.counts, context.values
    if len(counts) != len(ITEMS) or len(values) != SEATS or any(len(own) != len(ITEMS) for own in values):
        return f"there are {len(ITEMS)} items and {SEATS} seats: {len(ITEMS)} counts, and as many values for each seat"
    for item, count in zip(ITEMS, counts, strict=True):
        if not FEWEST <= count <= MOST:
            return f"there are {count} {item}s; allowed are {FEWEST} to {MOST} of each item"
    if not FEWEST_IN_ALL <= sum(counts) <= MOST_IN_ALL:
        return f"{sum(counts)} items in all; allowed are {FEWEST_IN_ALL} to {MOST_IN_ALL}"
    for seat, own in enumerate(values):
        for item, value in zip(ITEMS, own, strict=True):
            if not 0 <= value <= WORTH:
                return f"a {item} is worth {value} to seat {seat}; allowed are 0 to {WORTH}"
        worth = sum(count * value for count, value in zip(counts, own, strict=True))
        if worth != WORTH:
            return f"everything together is worth {worth} to seat {seat}; it must be {WORTH}"
    for item, one, other in zip(ITEMS, *values, strict=True):
        if not one and not other:
            return f"the {item} is worth nothing to both; it must be worth something to one of them"
    if not any(one and other for one, other in zip(*values, strict=True)):
        return "no item is worth something to both; at least one must be"
    return None


@lru_cache(maxsize=1)
def pools() -> tuple[Counts, ...]:
    """Every pool that is allowed, in the order of its counts."""
    sizes = range(FEWEST, MOST + 1)
    return tuple((a, b, c) for a, b, c in product(sizes, repeat=3) if FEWEST_IN_ALL <= a + b + c <= MOST_IN_ALL)


@lru_cache(maxsize=64)
def contexts_of(counts: Counts) -> tuple[Context, ...]:
    """Every allowed context of one pool."""
    own = [
        values
        for values in product(*(range(WORTH // count + 1) for count in counts))
        if sum(count * value for count, value in zip(counts, values, strict=True)) == WORTH
    ]
    pairs = (Context(counts, (one, other)) for one in own for other in own)
    return tuple(context for context in pairs if broken(context) is None)


@lru_cache(maxsize=1)
def all_contexts() -> tuple[Context, ...]:
    """Every allowed context: 5,295, among them the 4,086 published ones."""
    return tuple(context for counts in pools() for context in contexts_of(counts))


def draw_context(draws: Random) -> Context:
    """A pool, each with the same chance, then a context of that pool, each with the same chance.

    The paper says of contexts that they "are sampled uniformly" (section 3) and not from what; the published ones are
    another choice of the same constraints.
    """
    return draws.choice(contexts_of(draws.choice(pools())))


def read_contexts(path: Path) -> tuple[Context, ...]:
    """The contexts of a file in the layout of the published ``selfplay.txt``, also as ``.gz``.

    Two lines a context, one a seat: count and value of each item by turns (``1 4 3 1 1 3``).

    Raises InputError: The file cannot be read, is empty, or a line is not such a half of an allowed context; named by
    its number.
    """
    try:
        lines = read_bytes(path).decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not to be read as contexts ({error})") from None
    if not lines or len(lines) % SEATS:
        raise InputError(f"{path}: {len(lines)} lines; a context is two, one for each seat")
    return tuple(_contexts(path, lines))


def _contexts(path: Path, lines: list[str]) -> Iterator[Context]:
    for number in range(0, len(lines), SEATS):
        halves = [_half(path, number + seat, lines[number + seat]) for seat in range(SEATS)]
        counts, others = halves[0][::2], halves[1][::2]
        if counts != others:
            raise InputError(
                f"{path}: lines {number + 1} and {number + 2}: counts {counts} and {others}; both share one pool"
            )
        context = Context((counts[0], counts[1], counts[2]), (halves[0][1::2], halves[1][1::2]))
        problem = broken(context)
        if problem is not None:
            raise InputError(f"{path}: lines {number + 1} and {number + 2}: {problem}")
        yield context


def _half(path: Path, number: int, line: str) -> tuple[int, ...]:
    words = line.split()
    if len(words) != 2 * len(ITEMS) or not all(word.isascii() and word.isdigit() and len(word) < 5 for word in words):
        raise InputError(
            f"{path}: line {number + 1}: {line[:80]!r}; it must be {2 * len(ITEMS)} whole numbers, count and value of "
            f"each of {', '.join(ITEMS)}"
        )
    return tuple(map(int, words))
