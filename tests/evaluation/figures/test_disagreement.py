import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from apportion.evaluation.figures.disagreement import MOST_TURNS, disagreement

ROWS = st.integers(2, 9).flatmap(
    lambda turns: st.lists(st.lists(st.integers(-3, 3), min_size=turns, max_size=turns), min_size=2, max_size=4)
)


@given(ROWS)
def test_it_is_the_share_among_all_pairs_that_are_ordered(rows):
    values = [np.array(row, float) for row in rows]
    pairs = [
        (one[i] - one[j]) * (other[i] - other[j])
        for one, other in itertools.combinations(values, 2)
        for i, j in itertools.combinations(range(len(one)), 2)
    ]
    ordered = [product for product in pairs if product]
    expected = sum(product < 0 for product in ordered) / len(ordered) if ordered else None
    assert disagreement(values) == (None if expected is None else pytest.approx(expected))


def test_of_two_methods_without_ties_it_is_kendall_s_tau_turned():
    chance = np.random.default_rng(3)
    one, other = chance.permutation(200).astype(float), chance.permutation(200).astype(float)
    assert disagreement([one, other]) == pytest.approx((1 - kendalltau(one, other).statistic) / 2)


def test_the_ends_of_the_scale_and_what_is_unknown():
    up = np.arange(5.0)
    assert disagreement([up, up * 2]) == 0.0 and disagreement([up, -up]) == 1.0
    assert disagreement([up]) is None and disagreement([up, np.ones(5)]) is None
    assert disagreement([up, np.array([np.nan, 4.0, 3.0, np.nan, np.nan])]) == 1.0


def test_very_long_dialogues_are_thinned():
    up = np.arange(4.0 * MOST_TURNS)
    assert disagreement([up, -up]) == 1.0
