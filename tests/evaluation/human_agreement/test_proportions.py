import numpy as np
import pytest
from scipy.stats import binomtest

from apportion.evaluation.human_agreement.proportions import over_splits, share_interval
from apportion.foundation.errors import InputError


def test_the_papers_sd_is_that_of_three_whole_percents():
    marks = np.zeros(300)
    marks[: 3 * 20] = 1  # 20 of 100 in each split, and one more in the first: 20.33 +- 0.47 in percent
    marks[60] = 1
    found = over_splits(marks, np.arange(300))
    assert (100 * found.mean, 100 * found.sd) == (pytest.approx(20.33, abs=0.01), pytest.approx(0.47, abs=0.01))


def test_fewer_items_than_splits():
    with pytest.raises(InputError, match="2 items with answers cannot be dealt out to 3 splits"):
        over_splits(np.ones(4), np.array([0, 0, 1, 1]))


def test_answers_of_their_own_have_wilsons_interval_nearly():
    rng = np.random.default_rng(0)
    marks = (rng.random(400) < 0.3).astype(float)
    share, low, high = share_interval(marks, np.arange(400), np.arange(400))
    exact = binomtest(int(marks.sum()), 400).proportion_ci(method="wilson")
    assert share == marks.mean() and (low, high) == (
        pytest.approx(exact.low, abs=1e-3),
        pytest.approx(exact.high, abs=1e-3),
    )


def test_items_that_agree_within_count_as_fewer():
    items = np.repeat(np.arange(40), 10)
    marks = (items % 4 == 0).astype(float)
    _, low, high = share_interval(marks, items, np.tile(np.arange(10), 40))
    alone = binomtest(100, 400).proportion_ci(method="wilson")
    assert high - low > 2.5 * (alone.high - alone.low)


def test_nothing_marked_and_nothing_said():
    items, people = np.repeat(np.arange(20), 3), np.tile(np.arange(3), 20)
    share, low, high = share_interval(np.zeros(60), items, people)
    assert (share, low) == (0.0, 0.0) and high > 0.5  # three people who mark nothing tell little of the next
    assert share_interval(np.full(60, np.nan), items, people) is None


@pytest.mark.parametrize(("items", "people"), [([0, 1, 2], [0, 0, 0]), ([0, 0, 0], [0, 1, 2]), ([0], [0])])
def test_of_a_single_item_or_annotator_there_is_a_share_and_no_interval(items, people):
    marks = np.array([1.0, 0.0, 1.0])[: len(items)]
    assert share_interval(marks, np.array(items), np.array(people)) == (marks.mean(), None, None)
