"""What both sides of a sale aim at."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from apportion.environments.sotopia.generation.inputs import Item
from apportion.environments.sotopia.generation.scenario_rules import Sale, dollars, sale_of, seller_target
from apportion.environments.sotopia.goal_checks import OneNumber, Terms
from apportion.foundation.errors import UnitError


def test_the_markup_ratio_is_exponential_with_rate_one_half() -> None:
    draws = Random(1)
    markups = np.array([1e6 / seller_target(1e6, draws) - 1.0 for _ in range(4000)])
    # An exponential of rate 0.5 has the scale 2; a rate of 1 or 0.45 would be refused at this size.
    assert stats.kstest(markups, stats.expon(scale=2.0).cdf).pvalue > 0.01
    assert abs(markups.mean() - 2.0) < 0.1


@given(st.floats(1.0, 1e6), st.integers())
def test_the_target_lies_between_nothing_and_the_price_and_is_the_seed_s(price: float, seed: int) -> None:
    target = seller_target(price, Random(seed))
    assert 0.0 <= target <= price + 0.005 and target == seller_target(price, Random(seed)) == round(target, 2)


def test_limits_make_a_sale_that_rules_can_check() -> None:
    free = Item("boat", "old", 100.0, 60.0, "p")
    target = sale_of(free, 0).targets[0]
    assert sale_of(free, 0) == Sale(free, (target, 60.0)) and sale_of(free, 0).terms is None
    assert sale_of(free, 1).targets[0] != target
    bound = Item("boat", "old", 100.0, 60.0, "p", target - 1.0, 90.0)
    assert sale_of(bound, 0).terms == Terms(OneNumber((target - 1.0, 90.0), (target, 60.0)))
    with pytest.raises(UnitError, match="is not above seller_least"):
        sale_of(Item("boat", "old", 100.0, 60.0, "p", target, 90.0), 0)


def test_prices_in_sentences() -> None:
    assert (dollars(60.0), dollars(12.5)) == ("$60", "$12.50")
