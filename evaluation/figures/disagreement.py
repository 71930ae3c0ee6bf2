"""How often methods order two turns of a dialogue the other way round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apportion.foundation.arrays import Floats

MOST_TURNS = 2000
"""Target turns whose pairs are compared; of longer dialogues evenly chosen ones."""
AT_ONCE = 128
"""Turns that are compared with all others in one step: what bounds the memory."""


def disagreement(rows: Sequence[Floats]) -> float | None:
    """How often two methods order two turns of a dialogue the other way round: 0 always alike, 1 always reversed.

    ``rows``: M methods' rewards of the same T turns [shape=(T,)], NaN where a method says nothing. Ties order nothing.
    Returns the share over all pairs of turns and of methods that both order; None where there are none.
    """
    if len(rows) < 2:
        return None
    values = np.stack(rows)
    if values.shape[1] > MOST_TURNS:
        values = values[:, np.linspace(0, values.shape[1] - 1, MOST_TURNS).astype(np.int64)]
    discordant = compared = 0.0
    for start in range(0, values.shape[1], AT_ONCE):
        order = values[:, None, :] - values[:, start : start + AT_ONCE, None]
        above, below = (order > 0).sum(axis=0), (order < 0).sum(axis=0)
        ordering = above + below
        # Each pair of turns is met twice, in the same way: that leaves the share as it is.
        discordant += float((above * below).sum())
        compared += float((ordering * (ordering - 1)).sum()) / 2
    return discordant / compared if compared else None
