from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.negotiation.bargaining.scenario import Bargain, draw_bargain
from apportion.foundation.errors import InputError


@given(st.integers())
def test_every_price_is_solved_as_by_brute_force(seed):
    bargain = draw_bargain(Random(seed))
    solution = bargain.solution
    prices = range(1, bargain.list_price + 1)
    assert solution.profits == {p: (bargain.budget - p, p - bargain.cost) for p in prices}
    assert all(sum(both) == bargain.surplus == solution.joint for both in solution.profits.values())
    assert set(solution.good) == {p for p in prices if bargain.cost <= p <= bargain.budget}
    assert set(solution.equal) == {p for p in prices if 2 * p == bargain.cost + bargain.budget}


def test_no_price_dominates_another():
    profits = Bargain("a kettle", 40, 36, 20).solution.profits
    front = [
        one
        for one in profits
        if not any(
            a >= c and b >= d and (a, b) != (c, d)
            for other, ((a, b), (c, d)) in ((p, (profits[p], profits[one])) for p in profits)
        )
    ]
    assert tuple(front) == Bargain("a kettle", 40, 36, 20).solution.front


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (("", 40, 36, 20), "thing: empty"),
        (("x", 0, 0, 0), "list_price = 0"),
        (("x", 2_000_000, 36, 20), "list_price = 2000000"),
        (("x", 40, 41, 20), "budget = 41"),
        (("x", 40, 20, 20), "the cost has to be 0 or more and below"),
        (("x", 40, 20, -1), "cost = -1"),
        (("x", 40, 23, 20), "has to lie 10% of the list price"),
    ],
)
def test_what_cannot_be_bargained_about(values, why):
    with pytest.raises(InputError, match=why):
        Bargain(*values)
