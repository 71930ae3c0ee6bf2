from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.text_checks import IN_TABLES, whole_text

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
