from __future__ import annotations

from itertools import product

from hypothesis import given

from environments.negotiation.codes import split_code
from environments.negotiation.contexts import Context
from environments.negotiation.solver import solve
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


def agrees_with_brute_force(context: Context) -> None:
    solution, points = solve(context), by_brute_force(context)
    assert solution.points == points
    front = {deal for deal, worth in points.items() if not any(dominated(worth, other) for other in points.values())}
    assert set(solution.front) == front
    assert {deal for deal in points if solution.pareto(deal)} == front
    assert solution.joint == max(map(sum, points.values()))
    assert set(solution.jointly_best) == {deal for deal, worth in points.items() if sum(worth) == solution.joint}
    assert set(solution.equal) == {deal for deal, (mine, other) in points.items() if mine == other}


@given(CONTEXTS)
def test_the_front_is_what_brute_force_finds(context: Context) -> None:
    agrees_with_brute_force(context)


def test_the_front_of_every_published_context_is_what_brute_force_finds() -> None:
    for context in published_contexts():
        agrees_with_brute_force(context)


@given(CONTEXTS)
def test_what_brings_most_together_is_on_the_front(context: Context) -> None:
    solution = solve(context)
    assert set(solution.jointly_best) <= set(solution.front)
