from dataclasses import replace

import numpy as np
import pytest

from apportion.evaluation.human_agreement.reliability import krippendorff_alpha
from apportion.foundation.errors import InputError
from apportion.study.design.unblinding_key import Key
from apportion.study.report.tables import AGENT, unblinded
from apportion.study.rows import AnswerRow
from tests.study.made_up import answered, made_study


@pytest.mark.parametrize("criteria", ["geli", "pairs", "negotiation"])
def test_every_value_stands_under_the_policy_that_answered(tmp_path, criteria):
    study, key = made_study(tmp_path / "study", criteria)
    rows = answered(study, key, people=9)
    found = unblinded(study, key, rows)
    (name, one) = next(iter(found.criteria.items()))
    criterion = study.criteria.by_name[name]
    expected = {}
    for row in (row for row in rows if row.item not in study.checks):
        for response in study.items[row.item].responses:
            given = row.answers[name]
            if criterion.kind == "select":
                value = float((response.id in given) != criterion.reversed)
            elif criterion.kind == "pair":
                value = 0.5 if given == "tie" else float(given == response.id)
            else:
                value = given[response.id]
            expected.setdefault(key.policy_of[row.item, response.id], []).append(value)
    for policy, values in expected.items():
        column = one.answers.values[:, one.answers.place(policy)]
        assert np.nanmean(column) == pytest.approx(np.mean(values))
        assert int(np.isfinite(column).sum()) == len(values)


def test_answers_of_practice_and_of_checks_do_not_count(tmp_path):
    study, key = made_study(tmp_path / "study", practice=2)
    rows = answered(study, key)
    practised = [replace(rows[0], item=item) for item in study.settings.practice]
    found = unblinded(study, key, [*rows, *practised])
    assert {row.item for row in found.rows} == {item.item for item in study.counted}
    assert len(rows) > len(found.rows)


def test_contexts_are_shared_where_an_item_shows_one_policy(tmp_path):
    study, key = made_study(tmp_path / "study", "negotiation", items_per_annotator=30)
    one = unblinded(study, key, answered(study, key, people=8)).criteria["fair"]
    assert one.apart and len(np.unique(one.answers.items)) == len({(i.session_id, i.turn) for i in study.counted})
    assert len(np.unique(one.judged.items)) == len(study.counted)


def test_of_a_pair_one_response_says_all(tmp_path):
    study, key = made_study(tmp_path / "study", "pairs")
    one = unblinded(study, key, answered(study, key, people=9)).criteria["better"]
    assert len(one.judged.items) == len(one.answers.items)


def test_turns_are_the_agent_s_in_the_context(tmp_path):
    study, key = made_study(tmp_path / "study", "turns")
    rows = answered(study, key)
    one = unblinded(study, key, rows).criteria["landed"]
    assert one.answers.systems == (AGENT,)
    values = [number for row in rows if row.item not in study.checks for number in row.answers["landed"].values()]
    assert one.judged.values.mean() == pytest.approx(np.mean(values))


def test_a_criterion_that_was_left_out_is_no_answer(tmp_path):
    study, key = made_study(tmp_path / "study")
    rows = [row for row in answered(study, key) if row.item not in study.checks]
    first = replace(rows[0], answers={n: v for n, v in rows[0].answers.items() if n != "social"})
    found = {name: one.answers for name, one in unblinded(study, key, [first, *rows[1:]]).criteria.items()}
    assert len(found["social"].items) == len(rows) - 1 == len(found["reuse"].items) - 1


def test_annotators_numbers_mean_the_same_after_some_are_left_out(tmp_path):
    study, key = made_study(tmp_path / "study")
    whole = unblinded(study, key, answered(study, key))
    rest = whole.of_annotators(whole.annotators[2:])
    assert set(rest.criteria["social"].answers.annotators) == set(range(2, len(whole.annotators)))
    assert {row.annotator for row in rest.rows} == set(whole.annotators[2:])
    assert krippendorff_alpha(rest.criteria["social"].judged.by_unit()) is not None


def test_answers_of_another_study(tmp_path):
    study, key = made_study(tmp_path / "study")
    with pytest.raises(InputError, match=r"annotator a1: an answer to item 'i9999', which .*study has not"):
        unblinded(study, key, [AnswerRow("a1", "i9999", {})])
    with pytest.raises(InputError, match=r"the key does not say whose the response r.* of item i0"):
        counted = study.counted[0].item
        unblinded(study, Key(tuple(row for row in key.rows if row.item != counted), key.base), answered(study, key))


@pytest.mark.parametrize("criteria", ["geli", "pairs"])
def test_a_key_whose_names_were_changed_is_refused(tmp_path, criteria):
    """Swapped, they would say the opposite: in all of it, or of one item."""
    study, key = made_study(tmp_path / "study", criteria, ("base", "ppo"))
    rows, other = answered(study, key), {"base": "ppo", "ppo": "base"}
    counted = study.counted[0].item
    for swapped in ({row.item for row in key.rows}, {counted}):
        wrong = [replace(row, policy=other[row.policy]) if row.item in swapped else row for row in key.rows]
        with pytest.raises(InputError, match="its id was not made of that name and the study's seed"):
            unblinded(study, Key(tuple(wrong), key.base), rows)
    assert unblinded(study, key, rows).rows
