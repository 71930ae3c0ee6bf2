import pytest

from apportion.foundation.lazy import lazy_names


def test_a_name_comes_from_its_home_and_another_is_refused():
    find = lazy_names("numbers", {"sqrt": "math", "pi": "math"})
    assert find("sqrt")(4.0) == 2.0
    with pytest.raises(AttributeError, match=r"module 'numbers' has no attribute 'cos'; it has pi, sqrt$"):
        find("cos")
