import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from apportion.study.design.answers import TIE
from apportion.study.design.criteria import CriterionSet
from apportion.study.design.items import Item, Response
from apportion.study.design.randomization import lettered
from apportion.viewer.study.views import MOST_BUTTONS, UNREADABLE, AnswerForm, SubmittedAnswers, given_in, item_view

ITEM = Item(
    "i0001",
    "s1",
    5,
    "user: Hello\nassistant: Hi.\nuser: How are you?\nassistant: Well.",
    (Response("r1", "One."), Response("r2", "Two."), Response("r3", "Three.")),
)
PAIR = Item("i0002", "s1", 5, "user: Hello", (Response("r1", "One."), Response("r2", "Two.")))


def criteria(*kinds, reason=None, **more):
    asked = [{"name": f"{kind}_q", "question": f"Which {kind}?", "kind": kind, **more} for kind in kinds]
    return CriterionSet.model_validate({"title": "T", "criteria": asked, "reason": reason})


def sent(**fields):
    return AnswerForm.of(
        [(name.replace("__", "-"), value) for name, values in fields.items() for value in values.split()]
    )


def test_nothing_marked_is_an_answer_and_nothing_rated_is_none():
    found = given_in(sent(), ITEM, ITEM.responses, criteria("select", "rating"))
    assert found.answers == {"select_q": []}
    assert found.faults == {"rating_q": "Please answer this question."}
    assert given_in(sent(c__pair_q=""), PAIR, PAIR.responses, criteria("pair")).faults


def test_what_is_left_out_is_named_by_letter_or_turn():
    asked = criteria("rating", "turns")
    found = given_in(sent(c__rating_q__B="3", c__turns_q__1="5"), ITEM, ITEM.responses, asked)
    assert found.faults == {"rating_q": "Still missing: A, C.", "turns_q": "Still missing: turn 2."}


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("select", {"c__select_q": "A Z"}),
        ("select", {"c__select_q": "A A"}),
        ("rating", {"c__rating_q__A": "9", "c__rating_q__B": "1", "c__rating_q__C": "1"}),
        ("rating", {"c__rating_q__A": "x", "c__rating_q__B": "1", "c__rating_q__C": "1"}),
        ("rating", {"c__rating_q__A": "1000000000", "c__rating_q__B": "1", "c__rating_q__C": "1"}),
    ],
)
def test_what_no_page_offers_is_no_answer(kind, fields):
    found = given_in(sent(**fields), ITEM, ITEM.responses, criteria(kind))
    assert found.faults == {f"{kind}_q": UNREADABLE}


def test_a_criterion_that_may_be_left_out():
    found = given_in(sent(), ITEM, ITEM.responses, criteria("rating", required=False))
    assert found.answers == {} and not found.faults


def test_a_reason_is_asked_for_as_the_set_says():
    asked = criteria("select", reason={"question": "Why?", "required": True, "least": 10})
    assert given_in(sent(), ITEM, ITEM.responses, asked).faults == {"reason": "Please write a few words here."}
    assert "at least 10" in given_in(sent(reason="short"), ITEM, ITEM.responses, asked).faults["reason"]
    form = AnswerForm.of([("reason", " Because\r\nof this. ")])
    assert given_in(form, ITEM, ITEM.responses, asked).reason == "Because\nof this."


def test_numbers_that_a_script_sends():
    form = AnswerForm.of([("seconds", "12.5"), ("lost", "x"), ("far", "1e9"), ("minus", "-1"), ("nan", "nan")])
    names = ("seconds", "lost", "far", "minus", "nan", "none")
    assert [form.number(name, 100.0) for name in names] == [12.5, None, 100.0, None, None, None]


@examples(st.data())
def test_what_a_page_shows_as_chosen_is_what_was_given(data):
    """The view of an answer, sent back as the browser would send it, is that answer."""
    kind = data.draw(st.sampled_from(["select", "rating", "pair", "turns"]))
    item = PAIR if kind == "pair" else ITEM
    high = data.draw(st.sampled_from([5, 1 + MOST_BUTTONS])) if kind in ("rating", "turns") else 5
    asked = criteria(kind, high=high)
    responses = lettered(data.draw(st.sampled_from(["a001", "a002", "a003"])), 7, item)
    ids = [response.id for response in responses]
    number = st.integers(1, high)
    value = {
        "select": st.lists(st.sampled_from(ids), unique=True).map(sorted),
        "pair": st.sampled_from([*ids, TIE]),
        "rating": st.fixed_dictionaries(dict.fromkeys(ids, number)),
        "turns": st.fixed_dictionaries({str(place): number for place in item.positions}),
    }[kind]
    answers = {f"{kind}_q": data.draw(value)}
    view = item_view(item, responses, asked, SubmittedAnswers(answers))
    pairs = [
        (row["field"], option["value"])
        for question in view["questions"]
        for row in question["rows"]
        for option in row["options"]
        if option["chosen"]
    ] + [
        (row["field"], row["typed"]) for question in view["questions"] for row in question["rows"] if not row["options"]
    ]
    again = given_in(AnswerForm.of(pairs), item, responses, asked)
    found = {name: sorted(one) if isinstance(one, list) else one for name, one in again.answers.items()}
    assert found == answers and not again.faults
