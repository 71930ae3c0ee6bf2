import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.errors import InputError
from apportion.viewer.labels.label import SCALES, Question, check_annotator, check_text, chosen_question, question_on
from tests.viewer.labels.given import LANDING


@given(st.integers(-1000, 1000), st.integers(1, 200), st.sampled_from([0.01, 0.1, 0.25, 1.0, 3.0]))
def test_every_answer_of_a_scale_is_one_and_what_lies_between_two_is_none(low, steps, step):
    question = Question("q", "?", low * step, low * step + steps * step, step)
    answers = question.answers
    assert len(answers) == steps + 1
    assert [question.checked(answer) for answer in answers] == list(answers)
    assert answers[0] == question.low and answers[-1] == question.high
    with pytest.raises(InputError, match="is no answer"):
        question.checked(answers[0] + step / 2)


@pytest.mark.parametrize("value", [0.999, 6.0, math.nan, math.inf, -math.inf])
def test_what_is_off_the_scale_is_no_answer(value):
    with pytest.raises(InputError, match="allowed is 1 to 5 by steps of 1"):
        LANDING.checked(value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"low": 5.0, "high": 1.0}, "low 5 has to be below high 1"),
        ({"low": math.nan}, "have to be numbers"),
        ({"step": 0.3}, "Choose a step that divides it"),
        ({"step": -1.0}, "Choose a step that divides it"),
        ({"step": 1e-9}, "1 to 1,000 whole steps"),
        ({"name": ""}, "the label's name is missing"),
        ({"name": "x" * 81}, "has 81 characters: at most 80"),
        ({"asks": "a\x00b"}, "U\\+0000"),
        ({"low_means": "\u202ebad"}, "U\\+202E"),
        ({"asks": " padded"}, "a space at an end"),
        ({"name": "e\u200bve"}, "U\\+200B"),
    ],
)
def test_a_question_that_cannot_be_is_refused_by_name(changes, said):
    with pytest.raises(InputError, match=said):
        Question(**{"name": "landing", "asks": "?", "low": 1.0, "high": 5.0, **changes})


@pytest.mark.parametrize("name", ["computed:rollouts", "Computed: x", " computed:"])
def test_nobody_is_called_as_a_computation_is(name):
    with pytest.raises(InputError):
        check_annotator(name)
    assert check_annotator("Zoë <b>") == "Zoë <b>"


def test_a_text_of_ten_megabytes_is_refused_without_being_repeated():
    with pytest.raises(InputError) as refused:
        check_text("x" * 10_000_000, "your name", 80)
    assert "10,000,000 characters" in str(refused.value) and len(str(refused.value)) < 200


@pytest.mark.parametrize("scale", SCALES)
def test_every_scale_that_is_offered_can_be_written_as_it_is_called(scale):
    question = question_on(scale, "tone", "What tone?")
    assert (question.name, question.asks) == ("tone", "What tone?")
    assert question.is_thumbs == (scale == "thumbs")


def test_a_scale_that_nobody_can_read_is_refused():
    with pytest.raises(InputError, match="neither thumbs nor of the form"):
        question_on("one to five")


def test_the_question_that_is_meant_is_found_or_asked_for():
    assert chosen_question({"landing": LANDING}) is LANDING
    assert chosen_question({"landing": LANDING, "x": question_on("thumbs", "x")}, "landing") is LANDING
    assert chosen_question({}, scale="1 to 5").answers == LANDING.answers
    with pytest.raises(InputError, match=r"labels called landing.*Give a scale"):
        chosen_question({"landing": LANDING}, "tone")
