import pytest

from apportion.foundation.errors import InputError
from apportion.study.design.answers import TIE
from apportion.study.import_export.form import form_of, most_responses, most_turns, numbered_turns, shown_items
from tests.study.made_up import made_study


def test_letters_and_numbers_become_the_study_s_own(tmp_path):
    study, _ = made_study(tmp_path / "study")
    form = form_of(study, study.counted[0], "mturk")
    social = study.criteria.by_name["social"]
    assert form.value(social, ["B", "A"]) == sorted([form.letters["A"], form.letters["B"]])
    assert form.value(social, []) == []
    assert form_of(study, study.counted[0], "mturk") == form
    assert list(form.letters) == ["A", "B", "C"] == list(most_responses(study.counted))


def test_a_tie_a_rating_and_a_turn(tmp_path):
    study, _ = made_study(tmp_path / "savoir", "savoir", ("base", "ppo"))
    form = form_of(study, study.counted[0], "mturk")
    assert form.value(study.criteria.by_name["credit_fairness"], "Tie") == TIE
    assert form.value(study.criteria.by_name["strategicness"], {"A": 2, "B": 5}) == {
        form.letters["A"]: 2, form.letters["B"]: 5,
    }  # fmt: skip
    turns, _ = made_study(tmp_path / "turns", "turns")
    item = turns.counted[0]
    landed = turns.criteria.by_name["landed"]
    assert form_of(turns, item, "mturk").value(landed, {"1": 4}) == {str(item.positions[0]): 4}
    assert list(numbered_turns(item)) == list(most_turns([item])) == ["1"]
    with pytest.raises(InputError, match=r"'2' is no turn of item .*; the agent has 1"):
        form_of(turns, item, "mturk").value(landed, {"2": 4})


def test_an_answer_that_is_none(tmp_path):
    study, _ = made_study(tmp_path / "study")
    form = form_of(study, study.counted[0], "mturk")
    with pytest.raises(InputError, match=r"'D' is no response of item .*; there are A, B, C"):
        form.value(study.criteria.by_name["social"], ["D"])


def test_practice_is_not_shown_elsewhere(tmp_path):
    study, _ = made_study(tmp_path / "study", practice=2)
    shown = {item.item for item in shown_items(study)}
    assert not shown & set(study.settings.practice) and shown >= set(study.checks)
