"""What a negotiation could come to at best, exactly: every split of its pool, and which of them nothing dominates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from apportion.environments.negotiation.action_encoding import SPLIT_OF, rest, splits_of
from apportion.environments.negotiation.contexts import Context

Points = tuple[int, int]
"""Of seat 0 and seat 1."""


@dataclass(frozen=True)
class Solution:
    """All deals of one context, by number of what seat 0 takes (`action_encoding.split_code`).

    ``points``: By deal, the points of seat 0 and seat 1; in the order of the numbers. ``front``: Deals that no deal
    weakly dominates: nobody could have more without the other having less (section 6). ``joint``: The most points of
    both together.
    """

    points: dict[int, Points]
    front: tuple[int, ...]
    joint: int

    def pareto(self, deal: int) -> bool:
        """Whether a deal is on the front."""
        return deal in self.front


@lru_cache(maxsize=8192)
def solve(context: Context) -> Solution:
    """The deals of a context; kept, because the same few thousand contexts are played again and again.

    >>> solution = solve(Context((1, 3, 1), ((3, 1, 4), (3, 2, 1))))
    >>> [(SPLIT_OF[deal], solution.points[deal]) for deal in solution.front][-1]
    ((1, 3, 1), (10, 0))
    """
    points = {}
    for deal in splits_of(context.counts):
        left = SPLIT_OF[rest(context.counts, deal)]
        points[deal] = (context.worth(0, SPLIT_OF[deal]), context.worth(1, left))
    best = _best_for_other(points)
    # A deal is dominated when the other seat can have more at as many points of this one, or as many at more.
    front = tuple(deal for deal, (one, other) in points.items() if best[one] == other and best[one + 1] < other)
    return Solution(points, front, max(one + other for one, other in points.values()))


def _best_for_other(points: dict[int, Points]) -> list[int]:
    """By number of points of seat 0, the most of seat 1 in a deal that brings seat 0 as many or more."""
    most = max(one for one, _ in points.values())
    best = [-1] * (most + 2)
    for one, other in points.values():
        best[one] = max(best[one], other)
    for one in range(most, -1, -1):
        best[one] = max(best[one], best[one + 1])
    return best
