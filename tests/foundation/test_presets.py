"""Settings by name: what is given goes before them, in groups too, and what departs from them can be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from apportion.foundation.settings import Preset, PresetSettings, PublishedValue, Settings, items


class Shoes(Settings):
    size: int = 40
    colour: str = "black"


class Walk(PresetSettings):
    PRESETS: ClassVar[Mapping[str, Preset]] = {
        "brisk": {
            "speed": PublishedValue(6.0, "section 2"),
            "steps": PublishedValue(9000, "section 3"),
            "shoes": {"size": PublishedValue(44, "appendix")},
        }
    }
    preset: Literal["brisk"] | None = None
    speed: float = 4.0
    steps: int = 1000
    shoes: Shoes = Shoes()


GIVEN = st.fixed_dictionaries(
    {},
    optional={
        "speed": st.floats(0, 9),
        "steps": st.integers(0, 9),
        "shoes": st.fixed_dictionaries({}, optional={"size": st.integers(30, 50), "colour": st.sampled_from("abc")}),
    },
)


@given(GIVEN)
def test_what_is_given_goes_before_the_preset_and_the_preset_before_the_defaults(values):
    settings = Walk.model_validate({"preset": "brisk", **values})
    own = values.get("shoes", {})
    expected = {"speed": 6.0, "steps": 9000, **values, "shoes": {"size": 44, "colour": "black", **own}}
    assert settings.model_dump() == {"preset": "brisk", **expected}
    plain = {"speed": 4.0, "steps": 1000, **values, "shoes": {"size": 40, "colour": "black", **own}}
    assert Walk.model_validate(values).model_dump() == {"preset": None, **plain}
    # Written out in part or in whole and read again, it is the same.
    assert Walk.model_validate(settings.model_dump(exclude_unset=True)) == settings
    assert Walk.model_validate(settings.model_dump()) == settings


@given(GIVEN)
def test_what_departs_from_the_preset_is_what_was_given_otherwise(values):
    published = {"speed": 6.0, "steps": 9000, "shoes.size": 44}
    flat = {"speed": values.get("speed", 6.0), "steps": values.get("steps", 9000)}
    flat["shoes.size"] = values.get("shoes", {}).get("size", 44)
    found = {
        name: (value, stands.value)
        for name, value, stands in Walk.model_validate({"preset": "brisk", **values}).departures()
    }
    assert found == {name: (value, published[name]) for name, value in flat.items() if value != published[name]}
    assert Walk.model_validate({"preset": "brisk", **values}).brought == published.keys() - found.keys()
    plain = Walk.model_validate(values)
    assert not list(plain.departures()) and not plain.brought


def test_a_group_that_was_made_whole_stays_as_it_is():
    assert Walk(preset="brisk", shoes=Shoes(colour="red")).shoes == Shoes(colour="red")
    with pytest.raises(ValidationError, match="shoes"):
        Walk.model_validate({"preset": "brisk", "shoes": 3})


def test_an_unknown_preset_is_refused_and_values_are_listed_by_their_dotted_names():
    with pytest.raises(ValidationError, match="Input should be 'brisk'"):
        Walk.model_validate({"preset": "brisc"})
    assert [name for name, _ in items(Walk.PRESETS["brisk"])] == ["speed", "steps", "shoes.size"]
