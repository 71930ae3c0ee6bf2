import numpy as np
import pytest

from apportion.evaluation.human_agreement.answers import Answers
from apportion.evaluation.human_agreement.reliability import kappa, kappas_with_others, krippendorff_alpha

# The example of Krippendorff (2011), section C: four observers, twelve units, a nominal and an ordinal reading of them.
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, np.nan, np.nan, np.nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, np.nan, 3],
        [np.nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, np.nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, np.nan],
    ]
).T


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_the_published_example(level, alpha):
    assert krippendorff_alpha(OBSERVERS, level) == pytest.approx(alpha, abs=5e-4)


@pytest.mark.parametrize("ratings", [np.ones((4, 3)), np.array([[1.0, np.nan], [np.nan, 0.0]]), np.zeros((0, 2))])
def test_nothing_that_could_differ_has_no_alpha(ratings):
    assert krippendorff_alpha(ratings) is None


def test_of_ratings_kappa_has_quadratic_weights():
    """1 less the mean squared distance over what it would be in another order."""
    rng = np.random.default_rng(9)
    one = rng.integers(0, 5, 90) / 2
    other = np.clip(one + rng.integers(-1, 2, 90), 0, 2)
    expected = np.var(one) + np.var(other) + (one.mean() - other.mean()) ** 2
    assert kappa(one, other) == pytest.approx(1 - np.mean((one - other) ** 2) / expected, rel=1e-12)


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
