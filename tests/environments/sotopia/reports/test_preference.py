"""Figure 9: Fleiss' kappa beside a computation by pairs, and shares by hand."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.sotopia.evaluation.human_ratings.credit_form import (
    FAIRNESS,
    FOUNDATION,
    STRATEGICNESS,
    Answered,
)
from apportion.environments.sotopia.reports.preference import figure_9, fleiss_kappa
from apportion.foundation.intervals.estimate import Missing
from tests.environments.sotopia.reports.made import SAMPLING


def by_pairs(rated: list[list[str]]) -> float | None:
    """The same from its meaning: agreeing pairs of raters, beside two answers drawn from all that were given."""
    pairs = [one == other for answers in rated for one, other in combinations(answers, 2)]
    everything = [answer for answers in rated for answer in answers]
    chance = sum(one == other for one in everything for other in everything) / len(everything) ** 2
    return None if chance == 1 else (sum(pairs) / len(pairs) - chance) / (1 - chance)


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=3, max_size=3), min_size=2, max_size=8))
def test_kappa_is_that_of_pairs(rated: list[list[str]]) -> None:
    found, theirs = fleiss_kappa([Counter(one) for one in rated]), by_pairs(rated)
    assert (isinstance(found, Missing) and theirs is None) or found == pytest.approx(theirs)


def test_kappa_is_of_equally_many_raters_and_says_why_it_is_not_there() -> None:
    assert fleiss_kappa([{"a": 2}, {"b": 2}, {"a": 1}]) == 1.0
    for counts in ([], [{"a": 1}, {"b": 1}], [{"a": 2}]):
        assert isinstance(fleiss_kappa(counts), Missing)
    assert "one and the same" in fleiss_kappa([{"a": 2}, {"a": 2}]).reason  # type: ignore[union-attr]


def test_shares_and_means_are_those_of_the_answers() -> None:
    answers = []
    for session in ("s1", "s2"):
        for annotator, preferred, score in (("ann", "savoir", 5), ("bob", "tie", 3), ("cy", "savoir", 4)):
            answers += [
                Answered(annotator, session, "Ann", STRATEGICNESS, str(score)),
                Answered(annotator, session, "Ann", FAIRNESS, preferred),
                Answered(annotator, session, "Ann", FOUNDATION, "uniform"),
            ]
    left, right = figure_9(answers, {("s1", "Ann"): "policy"}, ("savoir", "uniform"), SAMPLING)
    rows = {row[0]: row for row in left.to_json()["rows"]}
    assert rows.keys() == {"policy", "not named"}
    assert rows["policy"][1]["value"] == 4.0 and rows["policy"][2] == 1.0
    fairness, foundation = right.to_json()["rows"]
    assert [cell["value"] for cell in fairness[1:]] == pytest.approx([2 / 3, 0.0, 1 / 3])
    assert [cell["value"] for cell in foundation[1:]] == [0.0, 1.0, 0.0] and fairness[1]["n"] == 6
    assert "Fleiss' kappa of credit fairness (3 answers to choose from): -0.50" in right.text()
    assert "not there, because everybody gave one and the same answer" in right.text()


def test_without_answers_nothing_is_there() -> None:
    assert [table.absent for table in figure_9([], {}, ("a", "b"), SAMPLING)] == ["nobody answered it"] * 2
    one = [Answered("ann", "s", "Ann", STRATEGICNESS, "2")]
    assert figure_9(one, {}, ("a", "b"), SAMPLING)[0].to_json()["rows"][0][2]["because"] == "one answer alone"
