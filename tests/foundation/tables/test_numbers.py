"""Numbers as a person reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.tables.columns import columns, padded
from apportion.foundation.tables.numbers import p_value


@pytest.mark.parametrize(
    ("p", "text", "named"),
    [
        (0.0, "< 0.001", "p<0.001"),
        (0.00099999, "< 0.001", "p<0.001"),
        (0.001, "0.001", "p=0.001"),
        (0.03125, "0.031", "p=0.031"),
        (1.0, "1.000", "p=1.000"),
    ],
)
def test_a_p_in_words(p: float, text: str, named: str) -> None:
    assert (p_value(p), p_value(p, named=True)) == (text, named)


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(st.text(max_size=5), min_size=width, max_size=width))))
def test_every_cell_of_a_column_is_as_wide_as_the_longest(rows: list[list[str]]) -> None:
    filled = padded(rows)
    assert [[cell.rstrip() for cell in row] for row in filled] == [[cell.rstrip() for cell in row] for row in rows]
    for column, was in zip(zip(*filled, strict=True), zip(*rows, strict=True), strict=True):
        assert {len(cell) for cell in column} == {max(map(len, was))}


def test_a_line_a_row_without_spaces_at_its_end() -> None:
    assert columns([("who", "what", ""), ("Ann", "a", "long"), ("B", "", "")]) == ["who  what", "Ann  a     long", "B"]
    assert columns([]) == []
    with pytest.raises(ValueError, match="shorter"):
        padded([("a", "b"), ("c",)])
