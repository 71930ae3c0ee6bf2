import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import t
from statsmodels.stats.sandwich_covariance import cov_cluster, cov_cluster_2groups

from apportion.evaluation.human_agreement.two_way_anova import difference_of_means, mean_of_answers, two_way_variance


def study(seed: int, items: int = 40, annotators: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    item, person = (
        np.repeat(np.arange(items), 3),
        np.concatenate([rng.permutation(annotators)[:3] for _ in range(items)]),
    )
    values = rng.standard_normal(items)[item] + rng.standard_normal(annotators)[person] + rng.standard_normal(3 * items)
    return values, item, person


@pytest.mark.parametrize("seed", range(5))
def test_the_variance_is_that_of_statsmodels(seed):
    values, items, annotators = study(seed)
    fitted = sm.OLS(values, np.ones(len(values))).fit()
    both, _, _ = cov_cluster_2groups(fitted, items, annotators, use_correction=True)
    # Its correction has (n - 1) / (n - k), 1 for a mean, and G / (G - 1), as ours.
    least = max(cov_cluster(fitted, group)[0, 0] for group in (items, annotators))
    ours = two_way_variance((values - values.mean()) / len(values), items, annotators)
    assert ours == pytest.approx(max(both[0, 0], least), rel=1e-9)


def test_the_interval_is_students_with_the_fewer_clusters():
    values, items, annotators = study(0)
    found = mean_of_answers(values, items, annotators)
    error = two_way_variance((values - values.mean()) / len(values), items, annotators) ** 0.5
    low, high = t.interval(0.95, 11, loc=values.mean(), scale=error)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.p == pytest.approx(2 * t.sf(abs(values.mean()) / error, 11))
    assert (found.answers, found.items, found.annotators) == (120, 40, 12)


def test_answers_that_are_missing_count_nowhere():
    values, items, annotators = study(1)
    holes = values.copy()
    holes[::4] = np.nan
    kept = np.isfinite(holes)
    assert mean_of_answers(holes, items, annotators) == mean_of_answers(values[kept], items[kept], annotators[kept])
    assert mean_of_answers(np.full(3, np.nan), np.arange(3), np.arange(3)) is None


def test_one_annotator_says_nothing_of_the_next():
    found = mean_of_answers(np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 0]))
    assert (found.value, found.low, found.high, found.p) == (0.5, None, None, None)


def test_answers_that_are_all_equal_are_no_proof():
    few = mean_of_answers(np.ones(6), np.repeat([0, 1], 3), np.tile([0, 1, 2], 2))
    assert (few.low, few.high, few.p) == (None, None, 0.5)
    assert mean_of_answers(np.zeros(4), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])).p == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_a_difference_of_systems_that_no_answer_shares_is_that_of_statsmodels(seed):
    values, items, people = study(seed)
    first = np.random.default_rng(seed).random(len(values)) < 0.4
    found = difference_of_means(np.where(first, values, np.nan), np.where(first, np.nan, values), items, people)
    fitted = sm.OLS(values, sm.add_constant(first.astype(float))).fit()
    groups = (items, people, items * 100 + people)
    by_item, by_person, alone = (cov_cluster(fitted, group, use_correction=False)[1, 1] for group in groups)
    sizes = [len(np.unique(group)) for group in groups]
    by_item, by_person, alone = (v * n / (n - 1) for v, n in zip((by_item, by_person, alone), sizes, strict=True))
    error = max(by_item + by_person - alone, by_item, by_person) ** 0.5
    assert found.value == pytest.approx(fitted.params[1])
    assert (found.low, found.high) == pytest.approx(t.interval(0.95, 11, loc=fitted.params[1], scale=error))


def test_a_difference_of_systems_that_every_answer_shares_is_the_mean_of_differences():
    values, items, people = study(3)
    other = np.random.default_rng(4).standard_normal(len(values))
    found, expected = difference_of_means(values, other, items, people), mean_of_answers(values - other, items, people)
    assert (found.value, found.low, found.high, found.p) == pytest.approx(
        (expected.value, expected.low, expected.high, expected.p)
    )


def test_a_system_without_an_answer_differs_from_nothing():
    assert difference_of_means(np.ones(2), np.full(2, np.nan), np.arange(2), np.arange(2)) is None
