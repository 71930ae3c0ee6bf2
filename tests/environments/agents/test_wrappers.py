import pytest

from apportion.environments.agents.wrappers import WrappedAgent, unwrapped
from apportion.foundation.errors import InputError


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("react", None),
        ("base@model+8b", None),
        ("base@refiner", None),
        ("react+refiner", WrappedAgent("react", "refiner", "")),
        ("react@m+refiner@runs/a+b", WrappedAgent("react@m", "refiner", "runs/a+b")),
        ("react+refiner@a+refiner", WrappedAgent("react+refiner@a", "refiner", "")),
    ],
)
def test_the_parts_of_a_name(name, parts):
    assert unwrapped(name) == parts
    if parts is not None:
        assert parts.inner + parts.suffix == name


@pytest.mark.parametrize("name", ["+refiner", "+refiner@x"])
def test_nobody_to_refine_is_told(name):
    with pytest.raises(InputError, match=r"nobody before the \+"):
        unwrapped(name)


def test_nothing_behind_the_at_is_told():
    with pytest.raises(InputError, match="nothing behind the @; write react"):
        unwrapped("react+refiner@")
