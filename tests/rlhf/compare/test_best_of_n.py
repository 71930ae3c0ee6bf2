import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.errors import InputError
from apportion.rlhf.compare.best_of_n import divergence, expected_best


@pytest.mark.parametrize("n", [1, 2, 4, 16])
def test_the_divergence_is_that_of_the_best_of_many_different_replies(n):
    def among(replies: int) -> float:
        below = (np.arange(replies + 1) / replies) ** n
        chance = np.diff(below)
        kept = chance > 0
        return float(chance[kept] @ np.log(chance[kept] * replies))

    assert among(20_000) == pytest.approx(divergence(n), abs=1e-3)
    # Where replies are few, some are drawn twice, and the best is nearer.
    assert among(5) <= divergence(n) + 1e-12 and divergence(1) == 0


# Few levels, so that replies often earn the same; the gold reward of each is its own.
REPLIES = st.lists(st.tuples(st.integers(0, 3), st.floats(-9, 9)), min_size=1, max_size=6)


@given(REPLIES, st.data())
def test_what_the_best_of_n_is_worth_is_the_mean_over_every_choice(replies, data):
    n = data.draw(st.integers(1, len(replies)))
    worth = []
    for chosen in itertools.combinations(replies, n):
        best = max(proxy for proxy, _ in chosen)
        worth.append(np.mean([gold for proxy, gold in chosen if proxy == best]))
    proxies, golds = np.array(replies, dtype=float).T
    twice = expected_best([proxies, proxies], n, [golds, golds + 1])
    assert twice == pytest.approx([np.mean(worth), np.mean(worth) + 1], abs=1e-9)
    maxima = [max(chosen) for chosen in itertools.combinations(proxies, n)]
    assert expected_best([proxies], n) == pytest.approx([np.mean(maxima)], abs=1e-9)


def test_of_many_replies_it_is_that_of_their_distribution():
    # Of 2000 evenly spread ones the best of 16 is on average the 16/17th.
    assert expected_best([np.arange(1, 2001)], 16)[0] == pytest.approx(2001 * 16 / 17)
    assert math.isfinite(expected_best([np.arange(5000)], 2500)[0])


@pytest.mark.parametrize("n", [0, 4])
def test_more_than_there_are_cannot_be_chosen(n):
    with pytest.raises(InputError, match=rf"best of {n}: there are 3 replies to a context; take 1 to 3, or draw more"):
        expected_best([[1, 2, 3]], n)
