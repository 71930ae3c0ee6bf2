import numpy as np
import pytest

from apportion.evaluation.holm import holm
from apportion.evaluation.human_agreement.answers import Answers
from apportion.evaluation.human_agreement.comparison import compare_to
from apportion.evaluation.human_agreement.mixed_model import mixed_mean
from apportion.foundation.errors import InputError


def marked(shares: list[float], seed: int, items: int = 60, people: int = 15) -> Answers:
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), 3)
    person = np.concatenate([rng.permutation(people)[:3] for _ in range(items)])
    values = (rng.random((3 * items, len(shares))) < shares).astype(float)
    return Answers(tuple(f"s{place}" for place in range(len(shares))), item, person, values)


def test_every_other_system_on_every_criterion_is_corrected_together():
    criteria = {"social": marked([0.2, 0.6, 0.2], 0), "fluency": marked([0.9, 0.9, 0.5], 1)}
    found = compare_to("s0", criteria, marks=criteria)
    assert [(one.criterion, one.system) for one in found] == [
        ("social", "s1"), ("social", "s2"), ("fluency", "s1"), ("fluency", "s2"),
    ]  # fmt: skip
    assert [one.p_holm for one in found] == holm(np.array([one.difference.p for one in found])).tolist()
    told = [one.p_holm < 0.05 for one in found]
    assert told == [True, False, False, True]
    assert found[0].marks.p < 0.001 and found[0].bootstrap[0] > 0


def test_ratings_have_no_marks_whatever_values_they_take():
    ratings = marked([0.5, 0.5], 0)
    for values in (ratings.values * 4 + 1, ratings.values, np.ones_like(ratings.values)):
        rated = Answers(ratings.systems, ratings.items, ratings.annotators, values)
        (row,) = compare_to("s0", {"kind": rated, "social": ratings}, marks=["social"])[:1]
        assert row.criterion == "kind" and row.marks is None


def test_a_tie_is_won_by_neither():
    items, people = np.repeat(np.arange(4), 2), np.tile([0, 1], 4)
    won = np.array([1, 1, 0.5, 1, 0, 0.5, 1, 1.0])
    (row,) = compare_to(
        "s0", {"better": Answers(("s0", "s1"), items, people, np.stack([1 - won, won], axis=1))}, marks=["better"]
    )
    assert row.difference.value == pytest.approx(2 * won.mean() - 1)
    assert (row.marks.only_first, row.marks.only_other) == (5, 1)


def test_a_mixed_model_of_every_difference_where_it_is_asked_for():
    answers = marked([0.2, 0.6], 4)
    (row,) = compare_to("s0", {"social": answers}, mixed=True)
    assert row.mixed == mixed_mean(answers.values[:, 1] - answers.values[:, 0], answers.items, answers.annotators)
    assert compare_to("s0", {"social": answers})[0].mixed is None


def test_systems_that_no_answer_shares_are_compared_by_their_means():
    rng = np.random.default_rng(5)
    values = np.where(rng.random((80, 1)) < 0.5, [1.0, np.nan], [np.nan, 1.0]) * rng.integers(1, 6, (80, 1))
    answers = Answers(("s0", "s1"), np.repeat(np.arange(20), 4), np.tile(np.arange(4), 20), values)
    (row,) = compare_to("s0", {"landed": answers}, apart={"landed"}, mixed=True)
    assert row.difference.value == pytest.approx(np.nanmean(values[:, 1]) - np.nanmean(values[:, 0]))
    assert row.bootstrap[0] < row.difference.value < row.bootstrap[1]
    assert row.bootstrap == pytest.approx((row.difference.low, row.difference.high), abs=0.5)
    assert (row.marks, row.mixed) == (None, None)
    values[:, 1] = np.nan
    with pytest.raises(InputError, match="no answer judges both 's1' and the base 's0'"):
        compare_to("s0", {"landed": answers}, apart={"landed"})


def test_an_answer_that_judges_no_two():
    answers = marked([0.5, 0.5], 0)
    answers.values[:, 1] = np.nan
    with pytest.raises(InputError, match="criterion 'kind': no answer judges both 's1' and the base 's0'"):
        compare_to("s0", {"kind": answers})
