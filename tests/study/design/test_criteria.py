from pathlib import Path

import pytest

from apportion.foundation.errors import InputError
from apportion.study.design.criteria import parse_criteria, shipped, shipped_toml

ONE = '[[criteria]]\nname = "good"\nquestion = "Which is good?"\nkind = "select"\n'


def parse(text):
    return parse_criteria(f'title = "T"\n{text}', Path("own.toml"))


def test_geli_asks_the_nine_criteria_and_reverses_those_of_the_appendix():
    criteria = shipped("geli")
    assert set(criteria.by_name) == {
        *("sensible", "specific", "connection", "social", "interesting", "inclination", "reuse", "positivity"),
        "fluency",
    }
    assert {criterion.kind for criterion in criteria.criteria} == {"select"}
    reversed_ones = {criterion.name for criterion in criteria.criteria if criterion.reversed}
    assert reversed_ones == {"sensible", "specific", "inclination", "fluency"}
    assert all("NOT" in criteria.by_name[name].question for name in reversed_ones)
    assert criteria.reason is not None and criteria.reason.required


def test_savoir_has_its_scale_and_its_two_comparisons():
    criteria = shipped("savoir")
    assert [(one.name, one.kind) for one in criteria.criteria] == [
        ("strategicness", "rating"),
        ("credit_fairness", "pair"),
        ("future_foundation", "pair"),
    ]
    assert sorted(criteria.by_name["strategicness"].anchors) == [1, 2, 3, 4, 5]
    assert criteria.asks_pairs and criteria.least_responses == 2


def test_a_set_that_does_not_ship_is_told_with_the_nearest_name():
    with pytest.raises(InputError, match=r"'gelly'; there are geli, .* did you mean 'geli'"):
        shipped_toml("gelly")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[[criteria]]\nname = "good"\nkind = "select"\n', r"criterion 1 \(good\): question: missing"),
        (ONE.replace("Which is good?", "  "), r"criterion 1 \(good\): question = '  '"),
        (ONE.replace("good", "Good!", 1), r"criterion 1 \(Good!\): name = 'Good!'"),
        (ONE.replace("select", "choose"), r"kind = 'choose': Input should be 'select', 'rating', 'pair' or 'turns'"),
        (ONE + ONE, "two criteria are called 'good'"),
        (ONE.replace("good", "reason", 1), "a criterion is called 'reason', as a field of every form is"),
        (ONE.replace("good", "dialogue", 1), "a criterion is called 'dialogue', as a field of every form is"),
        (
            ONE.replace("select", "turns") + ONE.replace("good", "good_1", 1),
            "'good_1' is what turn 1 of 'good' is called in forms",
        ),
        (ONE + "lowest = 1\n", "criterion 1 .*: lowest: unknown key; did you mean 'low'"),
        (ONE + "\n[reason]\nquestion = ''\n", "reason.question = ''"),
        (ONE.replace("select", "rating") + "low = 5\n", "a scale from 5 to 5; 2 to 101 values"),
        (ONE.replace("select", "rating") + "high = 200\n", "a scale from 1 to 200"),
        (ONE.replace("select", "rating") + 'anchors = { 9 = "much" }\n', "anchors: 9 is not on the scale from 1 to 5"),
        (ONE + 'anchors = { 1 = "much" }\n', "anchors belong to a rating or to turns, and this is a select"),
        (ONE.replace("select", "pair") + "reversed = true\n", "reversed: a pair has no scale"),
        (
            ONE.replace("select", "pair")
            + ONE.replace("good", "fair", 1).replace("select", "rating")
            + "about = 'dialogue'",
            "a pair has two responses, and what is about the dialogue one",
        ),
        ("", "criteria: missing"),
        ("criteria = [1]", "criterion 1 = 1"),
        ("criteria = ", "not valid TOML"),
    ],
)
def test_what_is_no_set_is_told_by_criterion(text, told):
    with pytest.raises(InputError, match=f"own.toml: .*{told}"):
        parse(text)
