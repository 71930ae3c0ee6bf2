import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.errors import InputError
from apportion.viewer.labels.label import label_of, question_of, said_digest
from tests.viewer.labels.given import LANDING, label

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)


@given(TEXT, st.integers(0, 10**6), st.one_of(st.none(), st.floats(1, 5)), st.booleans())
def test_a_label_comes_back_as_it_was(session_id, turn, value, blind):
    one = label(session_id="s0", turn=1, value=value, blind=blind)
    assert label_of(one.to_json()) == one
    assert said_digest(session_id, "x") != said_digest(session_id, "y")


def test_a_question_comes_back_as_it_was():
    assert question_of(LANDING.to_json()) == LANDING


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"turn": "1"}, "field turn: a whole number is needed"),
        ({"turn": True}, "field turn: a whole number is needed"),
        ({"blind": 1}, "field blind: true or false"),
        ({"low": None}, "field low: a number is needed"),
        ({"value": "5"}, "field value: a number"),
        ({"value": 9.0}, "value 9 is outside its scale, 1 to 5"),
        ({"annotator": "computed:x"}, "computed"),
        ({"session_id": 3}, "field session_id: text is needed"),
    ],
)
def test_what_is_no_label_is_told_by_its_field(changes, said):
    with pytest.raises(InputError, match=said):
        label_of({**label().to_json(), **changes})
