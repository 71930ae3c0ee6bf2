from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.speaker_labels import letters

SPEAKERS = st.lists(st.integers(0, 60), max_size=120)


def test_two_are_a_and_b_and_more_go_on_from_c_past_z() -> None:
    assert letters(["ann", "bob"], "bob") == {"ann": "A", "bob": "B"}
    assert letters([], "bob") == {"bob": "B"}
    many = letters(range(30), 0)
    assert [many[i] for i in (0, 1, 2, 25, 26, 27, 29)] == ["B", "A", "C", "Z", "AA", "AB", "AD"]


@given(SPEAKERS, st.integers(0, 60), st.integers(0, 120))
def test_nobody_shares_a_letter_and_what_comes_later_changes_none(speakers: list[int], target: int, end: int) -> None:
    given_to = letters(speakers, target)
    assert set(given_to) == {*speakers, target}
    assert len(set(given_to.values())) == len(given_to)
    assert letters(speakers[:end], target).items() <= given_to.items()
