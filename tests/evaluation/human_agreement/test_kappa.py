import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from apportion.evaluation.human_agreement.answers import Answers
from apportion.evaluation.human_agreement.kappa import kappa, kappas_with_others


def table(one: np.ndarray, other: np.ndarray, values: int) -> np.ndarray:
    counts = np.zeros((values, values))
    np.add.at(counts, (one.astype(int), other.astype(int)), 1)
    return counts


@pytest.mark.parametrize("seed", range(4))
def test_of_marks_it_is_that_of_statsmodels(seed):
    rng = np.random.default_rng(seed)
    one = (rng.random(80) < 0.3).astype(float)
    other = np.where(rng.random(80) < 0.6, one, rng.random(80) < 0.5).astype(float)
    assert kappa(one, other) == pytest.approx(cohens_kappa(table(one, other, 2)).kappa, rel=1e-12)


def test_of_ratings_it_has_quadratic_weights():
    rng = np.random.default_rng(9)
    one = rng.integers(0, 5, 90).astype(float)
    other = np.clip(one + rng.integers(-1, 2, 90), 0, 4).astype(float)
    weighed = cohens_kappa(table(one, other, 5), wt="quadratic").kappa
    assert kappa(one, other) == pytest.approx(weighed, rel=1e-12)


def test_pairs_that_lack_a_value_count_nowhere():
    assert kappa(np.array([1, 0, 1, 0, np.nan]), np.array([1, 0, 0, 0, 1.0])) == 0.5
    assert kappa(np.array([np.nan]), np.array([1.0])) is None
    assert kappa(np.ones(3), np.ones(3)) is None


def test_one_who_always_says_the_same_agrees_as_by_chance():
    assert kappa(np.ones(4), np.array([1.0, 0, 1, 0])) == pytest.approx(0.0)


def test_each_with_all_others():
    rng = np.random.default_rng(1)
    truth = (rng.random((30, 1)) < 0.5).astype(float)
    values = np.concatenate([np.repeat(truth, 3), (rng.random(30) < 0.5).astype(float)])
    items = np.concatenate([np.repeat(np.arange(30), 3), np.arange(30)])
    people = np.concatenate([np.tile([1, 2, 3], 30), np.full(30, 7)])
    answers = Answers(("a",), items, people, values[:, None])
    found = kappas_with_others({"social": answers, "again": answers})
    own = values[90:]
    assert found[7] == pytest.approx(kappa(np.repeat(own, 3), np.repeat(truth, 3)))
    assert list(found) == [1, 2, 3, 7] and found[1] > 0.5 > found[7]


def test_one_whom_nobody_can_be_compared_with():
    answers = Answers(("a",), np.array([0, 1, 1]), np.array([0, 1, 2]), np.array([[1.0], [1.0], [1.0]]))
    assert kappas_with_others({"social": answers}) == {0: None, 1: None, 2: None}
