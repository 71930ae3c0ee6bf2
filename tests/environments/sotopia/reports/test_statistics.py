"""Against scipy, and tables computed by hand."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from apportion.environments.report_tables.table import Value, mean
from apportion.environments.sotopia.reports.statistics import agreeing, binned, pearson, randolph, students_t
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling

SAMPLING = Sampling(resamples=200)
scores = st.integers(0, 10)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(scores, scores), min_size=3, max_size=40))
@example([(0, 0), (0, 0), (0, 0), (0, 0), (3, 7)])
def test_pearson_is_scipys(pairs: list[tuple[int, int]]) -> None:
    x, y = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    episodes = [str(number // 2) for number in range(len(pairs))]
    figure = pearson(episodes, x, y, SAMPLING)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert isinstance(figure, Missing) and "constant" in figure.reason
        return
    assert isinstance(figure, Value)
    theirs = stats.pearsonr(x, y)
    assert figure.value == pytest.approx(theirs.statistic, abs=1e-12) and figure.p == pytest.approx(theirs.pvalue)
    assert figure.items == len(pairs) and figure.episodes == len(set(episodes))
    if figure.low is not None:
        assert -1 - 1e-9 <= figure.low <= figure.high <= 1 + 1e-9


def test_a_correlation_that_cannot_be_says_why() -> None:
    assert pearson(["a", "b"], [1, 2], [2, 1], SAMPLING) == Missing("fewer than 3 pairs (2)")
    constant = pearson(["a", "b", "c"], [0, 0, 0], [2, 1, 1], SAMPLING)
    assert constant == Missing("constant: all 3 scores of the judge are 0")
    other = pearson(["a", "b", "c"], [1, 2, 3], [2, 2, 2], SAMPLING)
    assert other == Missing("constant: all 3 scores of the people are 2")


@pytest.mark.filterwarnings("ignore:Precision loss")  # Of scipy's, where one side has no spread.
@settings(max_examples=60, deadline=None)
@given(st.lists(scores, min_size=1, max_size=20), st.lists(scores, min_size=1, max_size=20))
def test_students_t_is_scipys(x: list[int], y: list[int]) -> None:
    p = students_t(x, y)
    if min(len(x), len(y)) < 2 or len(set(x)) == len(set(y)) == 1:
        assert isinstance(p, Missing)
    else:
        assert p == pytest.approx(stats.ttest_ind(x, y).pvalue)


def test_bins_are_of_one_width() -> None:
    assert binned(range(11), (0, 10), 5) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
    assert binned([-5, -1, 0, 1, 5], (-5, 5), 5) == [0, 2, 2, 3, 4]
    assert binned(range(-10, 1), (-10, 0), 11) == list(range(11))


def test_kappa_of_several_raters_is_that_of_the_table() -> None:
    """Randolph's formula on counts: sum of n_ij^2 - N n, over N n (n - 1); the textbook table of Fleiss (1971)."""
    table = """0 0 0 0 14; 0 2 6 4 2; 0 0 3 5 6; 0 3 9 2 0; 2 2 8 1 1;
               7 7 0 0 0; 3 2 6 3 0; 2 5 3 2 2; 6 5 2 1 0; 0 2 2 3 7"""
    counts = np.array([[int(count) for count in row.split()] for row in table.split(";")])
    items = [(str(number), np.repeat(np.arange(5), row)) for number, row in enumerate(counts)]
    agreed, kappa = randolph(items, 5, SAMPLING)
    share = ((counts**2).sum() - 10 * 14) / (10 * 14 * 13)
    assert isinstance(agreed, Value) and agreed.value == pytest.approx(share) and round(share, 3) == 0.378
    assert isinstance(kappa, Value) and kappa.value == pytest.approx((share - 0.2) / 0.8)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=8))
def test_agreement_counts_pairs(bins: list[int]) -> None:
    pairs = [a == b for i, a in enumerate(bins) for b in bins[i + 1 :]]
    assert agreeing(bins) == pytest.approx(sum(pairs) / len(pairs))


def test_one_episode_has_no_interval_and_no_scores_no_mean() -> None:
    alone = mean(["a", "a"], [1.0, 3.0], SAMPLING)
    assert alone == Value(2.0, None, None, items=2, episodes=1)
    assert mean([], [], SAMPLING) == Missing("nobody rated it")
