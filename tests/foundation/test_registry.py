"""What is chosen by name: ours, then packages' entry points, and what is told of one that cannot be used."""

import re
from importlib.metadata import EntryPoint

import pytest

from apportion.foundation import registry
from apportion.foundation.errors import InputError
from apportion.foundation.lazy import load_named
from apportion.foundation.registry import Registry

OURS = {"root": "math:sqrt"}


def moments(**ours):
    return Registry("moment", "nobody.moments", "a function", callable, ours or OURS)


@pytest.fixture
def brought(monkeypatch):
    points = {
        name: EntryPoint(name, value, "nobody.moments")
        for name, value in {"floor": "math:floor", "pi": "math:pi", "gone": "math:gone", "root": "math:ceil"}.items()
    }
    monkeypatch.setattr(registry, "points_of", lambda group: points if group == "nobody.moments" else {})


def test_ours_go_before_packages(brought):
    assert moments().names() == ["root", "floor", "pi", "gone"]
    assert moments().find("root")(4.0) == 2.0 and moments().find("floor")(1.5) == 1


def test_a_name_that_nothing_has_is_told_with_the_nearest():
    with pytest.raises(InputError, match=r"^no moment 'rot'; did you mean 'root'\? Allowed: root\.$"):
        moments().find("rot")
    nothing = Registry("moment", "nobody.moments", "a function", callable)
    assert nothing.unknown("x") == "no moment 'x'. No installed package brings any (nobody.moments)."


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("gone", r"cannot be loaded: AttributeError: .*Repair or remove it"),
        ("pi", r"is 3\.14\d*; it must be a function"),
    ],
)
def test_what_a_package_names_wrongly_is_told(brought, name, problem):
    with pytest.raises(InputError, match=rf"entry point '{name}' of nobody\.moments \(math:{name}\) {problem}"):
        moments().find(name)


@pytest.mark.parametrize("place", ["nowhere.at_all:x", "math:no_such_name", ":", "math"])
def test_what_a_declaration_names_and_cannot_be_imported_is_told_with_the_remedy(place):
    assert load_named("math:sqrt", "it", "Mend it.")(9.0) == 3.0
    with pytest.raises(InputError, match=rf"^it: cannot load {re.escape(repr(place))} \(.*\)\. Mend it\.$"):
        load_named(place, "it", "Mend it.")
