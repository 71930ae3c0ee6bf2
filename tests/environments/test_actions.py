"""What an agent does, and how it is written down."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.actions import Action, AgentAction, InvalidActionError, in_order

JSON = st.recursive(st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=5)


@given(st.text(), st.text(), st.none() | JSON)
def test_an_act_is_read_as_it_was_written(kind: str, text: str, data: object) -> None:
    act = Action(kind, text, data)
    assert Action.of(json.loads(json.dumps(act.record()))) == act


@pytest.mark.parametrize("record", [None, [], ["speak"], ["speak", 1], ["a", "b", 1, 2], "speak"])
def test_what_is_no_act_is_refused(record: object) -> None:
    with pytest.raises(ValueError, match="an act is"):
        Action.of(record)


def test_everybody_whose_turn_it_is_acts_and_nobody_else() -> None:
    yes = Action("yes")
    assert in_order({"b": yes, "a": yes}, ("a", "b")) == (AgentAction("a", yes), AgentAction("b", yes))
    with pytest.raises(InvalidActionError, match="'c' acts out of turn; it is the turn of a"):
        in_order({"c": yes}, ("a",))
    with pytest.raises(InvalidActionError, match="nobody: it is over"):
        in_order({"c": yes}, ())
    with pytest.raises(InvalidActionError, match="'b' has to act"):
        in_order({"a": yes}, ("a", "b"))
