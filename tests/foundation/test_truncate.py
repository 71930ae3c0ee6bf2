from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.safe_text import IN_TABLES, whole_text
from apportion.foundation.truncate import counted, first_few, indented, listed, some


def test_what_is_left_out_is_counted_or_dotted():
    assert listed(["a", "b", "c"]) == "a, b, c"
    assert listed(list("abcde"), separator="; ") == "a; b; c and 2 more"
    assert listed([]) == "" == listed([], apart=True)
    assert listed(list("abcde"), 4, "\n", apart=True) == "a\nb\nc\nd\nand 1 more"
    assert first_few(["a", "b"], 1) == "a, …"
    assert first_few(["a"], 1) == "a"
    assert counted([], "session") == "0 sessions ()"
    assert counted(list("abcd"), "turn", 2) == "4 turns (a, b, …)"
    assert indented(["a", "b", "c"], 2) == ["  a", "  b", "  (+1 more)"]
    assert indented(["a"], 1) == ["  a"]
    assert some("odd", ["a", "b", "c"], 2) == ["odd: a", "odd: b", "odd: 1 more"]
    assert some("odd", ["a", "b"], 1, where="all are in x") == ["odd: a", "odd: 1 more (all are in x)"]


TEXTS = st.text(st.characters() | st.characters(categories=["Cs"]))


@given(TEXTS)
def test_in_tables_it_is_what_a_file_written_with_replacement_would_hold(text: str) -> None:
    assert whole_text(text, IN_TABLES) == text.encode("utf-8", "replace").decode()


@given(TEXTS)
def test_every_letter_stays_in_its_place_and_any_file_can_hold_it(text: str) -> None:
    whole = whole_text(text)
    whole.encode()
    assert len(whole) == len(text)
    halves = ["\ud800" <= letter <= "\udfff" for letter in text]
    assert all(new == ("\ufffd" if half else old) for new, old, half in zip(whole, text, halves, strict=True))
