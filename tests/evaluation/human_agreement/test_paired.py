import numpy as np
import pytest
from scipy.stats import bootstrap

from apportion.evaluation.holm import holm
from apportion.evaluation.human_agreement.paired import item_bootstrap, mcnemar, unpaired_bootstrap
from apportion.foundation.intervals.resampling import Sampling


@pytest.mark.parametrize(("won", "lost", "p"), [(0, 0, 1.0), (6, 0, 0.03125), (5, 5, 1.0), (9, 2, 0.065429688)])
def test_mcnemar_is_a_binomial_test_of_the_answers_that_differ(won, lost, p):
    first, other = np.repeat([1.0, 0.0, 1.0], [won, lost, 4]), np.repeat([0.0, 1.0, 1.0], [won, lost, 4])
    found = mcnemar(first, other)
    assert (found.only_first, found.only_other, found.p) == (won, lost, pytest.approx(p))


def test_a_test_that_was_not_made_costs_the_others_nothing():
    corrected = holm(np.array([[0.01, np.nan], [0.04, 0.03]]))
    assert np.isnan(corrected[0, 1]) and np.isnan(holm(np.array([np.nan]))).all()
    assert corrected[np.isfinite(corrected)].tolist() == pytest.approx([0.03, 0.06, 0.06])


def test_an_answer_that_lacks_one_counts_nowhere():
    found = mcnemar(np.array([1.0, np.nan, 1.0]), np.array([0.0, 0.0, np.nan]))
    assert (found.only_first, found.only_other, found.p) == (1, 0, 1.0)


def test_the_bootstrap_over_items_is_that_of_scipy():
    rng = np.random.default_rng(0)
    items = np.repeat(np.arange(60), 3)
    differences = rng.standard_normal(60)[items] + rng.standard_normal(180)
    ours = item_bootstrap(differences, items, Sampling(resamples=20_000))
    of_items = differences.reshape(60, 3).mean(axis=1)  # as many answers an item: the mean is that of the items' means
    drawn = bootstrap((of_items,), np.mean, method="percentile", n_resamples=20_000, rng=rng).confidence_interval
    assert ours == pytest.approx((drawn.low, drawn.high), abs=0.01)


def test_the_bootstrap_of_systems_that_no_answer_judges_together_is_that_of_scipy():
    """Items have different numbers of answers of either system, and some of one system alone."""
    rng = np.random.default_rng(1)
    items = rng.integers(0, 50, 240)
    is_one = rng.random(240) < 0.4
    values = 0.8 * rng.standard_normal(50)[items] + rng.standard_normal(240) + 0.5 * is_one
    one, other = np.where(is_one, values, np.nan), np.where(is_one, np.nan, values)
    assert {tuple(sorted(set(is_one[items == item]))) for item in range(50)} > {(False, True)}
    ours = unpaired_bootstrap(one, other, items, Sampling(resamples=20_000))

    def difference(drawn):
        """Of the answers of the drawn items, each as often as its item was drawn."""
        rows = np.concatenate([np.flatnonzero(items == item) for item in drawn])
        return np.nanmean(one[rows]) - np.nanmean(other[rows])

    theirs_drawn = bootstrap(
        (np.unique(items),), difference, vectorized=False, method="percentile", n_resamples=4_000, rng=rng
    ).confidence_interval
    assert ours == pytest.approx((theirs_drawn.low, theirs_drawn.high), abs=0.03)
    assert ours[0] < np.nanmean(one) - np.nanmean(other) < ours[1]
