"""Who wants what in CaSiNo's game: the contexts of Chawla et al., 2021, as those of every negotiation."""

from __future__ import annotations

from itertools import permutations, product
from random import Random

from apportion.corpus.casino_points import ISSUES, PACKAGES, WORTH
from apportion.environments.negotiation.contexts import Context, Counts
from apportion.foundation.errors import InputError

POOL: Counts = (PACKAGES, PACKAGES, PACKAGES)
_ORDERS = tuple(permutations(WORTH.values()))
CONTEXTS = tuple(Context(POOL, (one, other)) for one, other in product(_ORDERS, _ORDERS))
"""All 36: to each seat one issue is worth 5 points a package, one 4 and one 3; in the order of `ISSUES`."""


def check(context: Context) -> None:
    """Hold a context to the game.

    Raises InputError: Another pool, or other values.
    """
    if context not in CONTEXTS:
        values = ", ".join(map(str, WORTH.values()))
        raise InputError(
            f"context {context.counts}, {context.values}: there are {PACKAGES} packages each of {', '.join(ISSUES)}, "
            f"worth {values} points in some order to each seat"
        )


def drawn(games: int, seed: int) -> tuple[Context, ...]:
    """So many contexts: all of them in an order that the seed draws, and then again."""
    order = list(CONTEXTS)
    Random(f"{seed}/context").shuffle(order)
    return tuple(order[number % len(order)] for number in range(games))
