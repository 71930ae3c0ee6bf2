import pytest

from apportion.environments.negotiation.bargaining.scenario import Bargain
from apportion.foundation.errors import InputError


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (("", 40, 36, 20), "thing: empty"),
        (("x", 0, 0, 0), "list_price = 0"),
        (("x", 2_000_000, 36, 20), "list_price = 2000000"),
        (("x", 40, 41, 20), "budget = 41"),
        (("x", 40, 20, 20), "the cost has to be 0 or more and below"),
        (("x", 40, 23, 20), "has to lie 10% of the list price"),
    ],
)
def test_what_cannot_be_bargained_about(values, why):
    with pytest.raises(InputError, match=why):
        Bargain(*values)
