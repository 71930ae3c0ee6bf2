import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.files.jsontext import JsonError, identifier, kind_of, number, parse, shown
from apportion.foundation.errors import UnitError

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
)


@given(values)
def test_what_was_written_is_read(value):
    assert repr(parse(json.dumps(value))) == repr(value)


@given(values, st.booleans())
def test_any_value_is_a_number_an_id_and_a_message_or_an_error_that_shows_it(value, texts):
    for read in (lambda: number(value, "here", texts=texts), lambda: identifier(value, "here")):
        try:
            assert isinstance(read(), float | str)
        except UnitError as error:
            assert str(error).startswith(f"here = {shown(value)}")
    assert len(shown(value)) < 3000 and kind_of(value)


@pytest.mark.parametrize("digits", [301, 400, 5_000, 100_000])
def test_an_integer_beyond_any_float_is_infinite(digits):
    assert parse("9" * digits) == math.inf and parse("-" + "9" * digits) == -math.inf
    with pytest.raises(UnitError, match="score = inf: a finite number is needed"):
        number(parse("9" * digits), "score")


def test_ids_half_characters_and_depth():
    assert identifier(parse("9" * 40), "id") == "9" * 40
    assert number(" 4.5 ", "score", texts=True) == 4.5
    with pytest.raises(UnitError, match="score = 'x'"):
        number("x", "score", texts=True)
    assert parse(r'{"a\ud83d": ["\ud83d\ude00", "\ude00", 1]}') == {"a?": ["\U0001f600", "?", 1]}
    assert parse(r'"\ud83d"', mend=False) == "\ud83d"
    assert parse("[" * 100 + "]" * 100) and len(parse(f"[{'[],' * 500}1]")) == 501


@given(st.lists(st.sampled_from(["\\\\", r"\ud83d", r"\uDe00", r"\u0041", r"\n", "ud83d", "x"]), max_size=8))
def test_whatever_halves_stand_where_no_half_is_left(pieces):
    text = '"' + "".join(pieces) + '"'
    assert parse(text) == json.loads(text).encode("utf-8", "replace").decode()


@pytest.mark.parametrize("depth", [101, 900, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nested_too_deeply(depth, opening, closing):
    inner = "1" if closing == "}" else ""
    with pytest.raises(JsonError, match="nested too deeply to read, more than 100 levels"):
        parse(opening * depth + inner + closing * depth)


def test_a_fault_says_where():
    with pytest.raises(JsonError) as fault:
        parse('{"a"\n 1}')
    assert (fault.value.line, fault.value.column) == (2, 2) and fault.value.reason.endswith("at column 2")


@pytest.mark.parametrize("value", [True, None, "4", "x", [1], {}, math.nan, math.inf])
def test_what_is_no_number(value):
    with pytest.raises(UnitError, match=r"score = .*a finite number is needed"):
        number(value, "score")


@pytest.mark.parametrize("value", [None, "", " ", 1.5, True, ["a"], {"a": 1}])
def test_what_is_no_id(value):
    with pytest.raises(UnitError, match=r"id = .*a text or a whole number is needed"):
        identifier(value, "id")
