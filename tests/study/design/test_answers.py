import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.errors import InputError
from apportion.study.design.answers import checked, problem_of, value_from, values_of
from apportion.study.design.criteria import Criterion, CriterionSet, Reason
from apportion.study.design.items import Item, Response

ITEM = Item(
    "i0001", "s1", 3, "user: a\nassistant: b\nuser: c\nassistant: d", (Response("r1", "x"), Response("r2", "y"))
)
SELECT, PAIR, RATING, TURNS = (
    Criterion(name=kind, question="?", kind=kind) for kind in ("select", "pair", "rating", "turns")
)
ALL = CriterionSet(
    title="T", criteria=(SELECT, PAIR, RATING, TURNS), reason=Reason(question="Why?", required=True, least=5)
)
GIVEN = {"select": ["r2", "r1"], "pair": "tie", "rating": {"r1": 1, "r2": 5}, "turns": {1: 3, 3: 4}}


def test_allowed_answers_are_kept_in_one_form():
    kept, reason = checked(ALL, ITEM, GIVEN, "  because  ")
    assert kept == {"select": ["r1", "r2"], "pair": "tie", "rating": {"r1": 1, "r2": 5}, "turns": {"1": 3, "3": 4}}
    assert reason == "because"
    assert checked(ALL, ITEM, kept, reason) == (kept, reason)
    assert checked(ALL, ITEM, {**GIVEN, "select": []}, reason)[0]["select"] == []


@pytest.mark.parametrize(
    ("criterion", "value", "told"),
    [
        (SELECT, "r1", "'r1' is no list of responses"),
        (SELECT, ["r3"], "'r3' is no response of item i0001"),
        (SELECT, ["r1", "r1"], "a response is marked twice"),
        (PAIR, "r3", "'r3' is neither a response of item i0001 nor 'tie'"),
        (PAIR, ["r1"], "is neither a response"),
        (RATING, 3, "3 has no number a response"),
        (RATING, {"r1": 1}, "'r2' is not rated"),
        (RATING, {"r1": 1, "r2": 6}, "6 is no whole number from 1 to 5"),
        (RATING, {"r1": 1, "r2": True}, "True is no whole number"),
        (RATING, {"r1": 1, "r2": 2.5}, "2.5 is no whole number"),
        (RATING, {"r1": 1, "r2": 2, "r3": 3}, "'r3' is no response of item i0001"),
        (TURNS, {"0": 3}, "'0' is no turn of the agent of item i0001"),
        (TURNS, {"1": 3}, "'3' is not rated"),
        (TURNS, [3, 3], "has no number a turn"),
    ],
)
def test_what_is_no_answer_is_told(criterion, value, told):
    problem = problem_of(criterion, ITEM, value)
    assert problem is not None and told in problem
    with pytest.raises(InputError, match=f"{criterion.name}: "):
        checked(ALL, ITEM, {**GIVEN, criterion.name: value}, "because")


def test_a_pair_needs_two_responses():
    assert problem_of(PAIR, Item("i1", "s", 1, "user: a", (Response("r1", "x"),)), "r1") == (
        "item i1 has 1 responses, and a pair has two"
    )


def test_some_numbers_are_enough_where_not_all_are_asked_for():
    assert problem_of(RATING, ITEM, {"r1": 1}, whole=False) is None
    assert problem_of(RATING, ITEM, {}, whole=False) == "'r1' is not rated"


@pytest.mark.parametrize(
    ("reason", "told"),
    [("", "not answered"), ("abc", "3 characters; at least 5"), ("x" * 4_001, "4,001 characters; at most 4,000")],
)
def test_a_reason_that_is_none_is_told(reason, told):
    with pytest.raises(InputError, match=f"reason: {told}"):
        checked(ALL, ITEM, GIVEN, reason)


def test_what_no_database_keeps_is_taken_out_of_a_reason():
    _, reason = checked(ALL, ITEM, GIVEN, " it\0 was\ud800 kind\x1b:\n\tand helped ")
    assert reason == "it was kind:\n\tand helped"


def test_all_problems_are_told_at_once():
    with pytest.raises(InputError) as told:
        checked(ALL, ITEM, {"select": ["r9"], "new": 1, "rating": {"r1": 1, "r2": 2}, "turns": {1: 1, 3: 1}}, "because")
    assert str(told.value).split("\n") == [
        "'new': no such criterion",
        "select: 'r9' is no response of item i0001",
        "pair: not answered",
    ]


def test_what_is_not_asked_for_may_be_left_out_and_is_not_taken():
    optional = CriterionSet(title="T", criteria=(SELECT.model_copy(update={"required": False}),))
    assert checked(optional, ITEM, {}) == ({}, "")
    with pytest.raises(InputError, match="no reason is asked for"):
        checked(optional, ITEM, {}, "words")


@pytest.mark.parametrize(
    ("criterion", "value", "says"),
    [
        (SELECT, ["r2"], {"r1": 0.0, "r2": 1.0}),
        (SELECT.model_copy(update={"reversed": True}), ["r2"], {"r1": 1.0, "r2": 0.0}),
        (PAIR, "r1", {"r1": 1.0, "r2": 0.0}),
        (PAIR, "tie", {"r1": 0.5, "r2": 0.5}),
        (RATING, {"r1": 2, "r2": 5}, {"r1": 2.0, "r2": 5.0}),
        (RATING.model_copy(update={"reversed": True}), {"r1": 2, "r2": 5}, {"r1": 4.0, "r2": 1.0}),
        (TURNS, {"1": 2, "3": 5}, {"1": 2.0, "3": 5.0}),
    ],
)
def test_an_answer_says_a_number_of_each(criterion, value, says):
    assert values_of(criterion, ITEM, value) == says


VALUES = {
    "select": st.lists(st.sampled_from(["r1", "r2"]), unique=True).map(sorted),
    "pair": st.sampled_from(["r1", "r2", "tie"]),
    "rating": st.fixed_dictionaries({"r1": st.integers(1, 5), "r2": st.integers(1, 5)}),
    "turns": st.fixed_dictionaries({"1": st.integers(1, 5), "3": st.integers(1, 5)}),
}


@given(st.sampled_from(sorted(VALUES)), st.booleans(), st.data())
def test_what_an_answer_says_leads_back_to_it(kind, is_reversed, data):
    criterion = Criterion(name=kind, question="?", kind=kind, reversed=is_reversed and kind != "pair")
    value = data.draw(VALUES[kind])
    assert value_from(criterion, ITEM, values_of(criterion, ITEM, value)) == value


@pytest.mark.parametrize(
    ("criterion", "values", "told"),
    [
        (SELECT, {"r1": 1.0}, "response 'r2' of item i0001 has no value"),
        (SELECT, {"r1": 1.0, "r2": 0.5}, "1, 0.5 are no values of a select"),
        (PAIR, {"r1": 1.0, "r2": 1.0}, "1, 1 are no values of a pair"),
        (PAIR, {"r1": 0.0, "r2": 0.0}, "0, 0 are no values of a pair"),
        (RATING, {"r1": 1.5, "r2": 2.0}, "1.5 is no whole number"),
    ],
)
def test_values_that_no_answer_has(criterion, values, told):
    with pytest.raises(InputError, match=told):
        value_from(criterion, ITEM, values)
