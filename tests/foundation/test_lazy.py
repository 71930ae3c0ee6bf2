import pytest

from apportion.foundation.lazy import lazy_names


def test_a_name_comes_from_its_home_and_another_is_refused(tmp_path):
    package = tmp_path / "__init__.py"
    package.write_text("import re\n\nif TYPE_CHECKING:\n    from cmath import phase\n    from math import pi, sqrt\n")
    find = lazy_names("numbers", str(package))
    assert find("sqrt")(4.0) == 2.0
    with pytest.raises(AttributeError, match=r"module 'numbers' has no attribute 're'; it has phase, pi, sqrt$"):
        find("re")
