"""Numbers as a person reads them."""

import pytest

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
