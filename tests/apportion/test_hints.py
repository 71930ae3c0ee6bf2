import pytest

from apportion.hints import HINTS, hint_for
from foundation.errors import InputError


@pytest.mark.parametrize("kind", HINTS)
def test_an_error_from_below_gets_the_options_that_help(kind):
    assert hint_for(kind("x")) == f"\nhint: {HINTS[kind]}"
    assert "--" not in str(kind("x"))


def test_another_error_says_all_itself():
    assert hint_for(InputError("x")) == ""
