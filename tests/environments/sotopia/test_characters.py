"""Characters."""

import pytest

from apportion.environments.sotopia.tasks import Character
from apportion.foundation.errors import InputError


@pytest.mark.parametrize("name", ["", "  ", "a" * 101, "Ann\nGoal: none", 'Ann "the" Lee', "Ann\x00"])
def test_a_name_is_a_name(name: str) -> None:
    with pytest.raises(InputError, match="1 to 100 printable characters"):
        Character(name)


@pytest.mark.parametrize("name", ["You", "the other person", "person 2", "Environment", "nobody"])
def test_a_name_that_stands_for_somebody_else_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="choose another name"):
        Character(name)


def test_names_of_all_languages_are_names() -> None:
    assert Character("Åsa Öberg-O'Neill").name and Character("山田 花子").name
