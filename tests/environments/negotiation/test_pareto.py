from __future__ import annotations

from itertools import product

from hypothesis import given

from apportion.environments.negotiation.action_encoding import split_code
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.pareto import solve
from tests.environments.negotiation.published import published_contexts
from tests.environments.negotiation.strategies import CONTEXTS


def by_brute_force(context: Context) -> dict[int, tuple[int, int]]:
    """Points of both by what seat 0 takes, from the counts alone."""
    points = {}
    for kept in product(*(range(count + 1) for count in context.counts)):
        mine = sum(k * v for k, v in zip(kept, context.values[0], strict=True))
        left = [n - k for n, k in zip(context.counts, kept, strict=True)]
        points[split_code(kept)] = (mine, sum(k * v for k, v in zip(left, context.values[1], strict=True)))
    return points


def dominated(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return other[0] >= one[0] and other[1] >= one[1] and other != one


def solved(context: Context) -> tuple[object, ...]:
    """What `solve` says: points, front (listed, and asked about each deal), joint maximum."""
    found = solve(context)
    pareto = {deal for deal in found.points if found.pareto(deal)}
    return found.points, set(found.front), pareto, found.joint


def enumerated(context: Context) -> tuple[object, ...]:
    """The same from every deal beside every other."""
    points = by_brute_force(context)
    front = {deal for deal, worth in points.items() if not any(dominated(worth, other) for other in points.values())}
    return points, front, front, max(map(sum, points.values()))


@given(CONTEXTS)
def test_the_front_is_what_brute_force_finds(context: Context) -> None:
    assert solved(context) == enumerated(context)


def test_the_front_of_every_published_context_is_what_brute_force_finds() -> None:
    for context in published_contexts():
        assert solved(context) == enumerated(context)
