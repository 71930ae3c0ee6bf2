"""The benchmark's own sums and its scripted episodes."""

from itertools import permutations

import numpy as np
import pytest

from benchmarks import savoir
from decompose.shapley.coalitions import all_coalitions


@pytest.mark.parametrize("kind", [savoir.pairwise, savoir.saturating, savoir.prefix_dependent])
def test_its_exact_values_are_the_mean_over_all_orders(kind) -> None:
    table = kind(all_coalitions(5).astype(float), np.random.default_rng(3))
    gains = np.zeros(5)
    for order in permutations(range(5)):
        for place, player in enumerate(order):
            before = sum(1 << i for i in order[:place])
            gains[player] += (table[before | 1 << player] - table[before]) / 120
    np.testing.assert_allclose(savoir.exact(table, 5), gains, atol=1e-9)


def test_its_episodes_have_seven_to_ten_acts_and_words_matter() -> None:
    for reopened, target, turns in savoir.reopened(4):
        assert 7 <= len(turns) <= 10
        without = [reopened.play_on(target, set(turns[:3]) - {turn}, (0,))[0].scores["GOAL"] for turn in turns[:3]]
        assert len(set(without)) > 1


def test_a_constant_answer_orders_nothing() -> None:
    assert savoir._order(np.zeros(3), np.arange(3.0)) == 0.0
    assert savoir._order(np.array([0.0, 2.0, 3.0]), np.arange(3.0)) == pytest.approx(1.0)
