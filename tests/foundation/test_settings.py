"""Settings are frozen and known; what is wrong with them is said in one way."""

import pytest
from pydantic import ValidationError, model_validator

from apportion.foundation.settings import Settings, problems


class Inner(Settings):
    rate: float = 1.0

    @model_validator(mode="after")
    def _positive(self):
        if self.rate <= 0:
            raise ValueError("rate must be above 0")
        return self


class Outer(Settings):
    name: str
    inner: Inner = Inner()


def refused(values):
    with pytest.raises(ValidationError) as error:
        Outer.model_validate(values)
    return error.value


def test_a_value_cannot_be_assigned_and_a_group_s_own_rule_needs_no_place():
    with pytest.raises(ValidationError, match="frozen"):
        Inner().rate = 2.0
    with pytest.raises(ValidationError) as error:
        Inner(rate=-1.0)
    assert problems(error.value) == ["rate must be above 0"]


@pytest.mark.parametrize("rate", [float("inf"), float("nan")])
def test_an_infinite_number_is_refused(rate):
    with pytest.raises(ValidationError, match="should be a finite number"):
        Inner(rate=rate)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "name: missing; add it"),
        ({"name": "a", "nam": 1}, "nam: unknown key; remove it"),
        ({"name": "a", "inner": {"rate": "x"}}, "inner.rate = 'x': Input should be a valid number"),
        ({"name": "a", "inner": {"rate": -1}}, "inner: rate must be above 0"),
    ],
)
def test_place_value_and_what_is_allowed_are_named(values, expected):
    (problem,) = problems(refused(values))
    assert problem.startswith(expected)


def test_the_caller_names_settings_and_unknown_keys_its_own_way():
    error = refused({"name": 5, "nam": 1})
    given = problems(error, called=lambda name: f"--{name}", unknown=lambda place: f"did you mean {place[-1]}e?")
    assert given == ["--name = 5: Input should be a valid string", "--nam: unknown key; did you mean name?"]


def test_a_list_is_called_as_toml_calls_it():
    class Listed(Settings):
        skip: tuple[str, ...] = ()

    with pytest.raises(ValidationError) as error:
        Listed.model_validate({"skip": "align"})
    assert problems(error.value) == ["skip = 'align': Input should be a valid list"]
