"""What every group of settings is: frozen, without keys that nobody knows; and settings that a preset can give."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

Place = tuple[int | str, ...]


class Settings(BaseModel):
    """Base of all settings: values cannot be assigned, unknown keys are refused, and so are infinite numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    NOT_IN_KEY: ClassVar[frozenset[str]] = frozenset()
    """Fields that finished work does not depend on; whatever is not named here makes it stale when it changes."""
    SET_BY_THE_RUN: ClassVar[frozenset[str]] = frozenset()
    """Fields that are decided when a run begins, and that no configuration is offered."""

    def plain(self) -> dict[str, Any]:
        """The settings as plain JSON values."""
        values: dict[str, Any] = json.loads(self.model_dump_json())
        return values

    def in_key(self) -> dict[str, Any]:
        """Those that finished work depends on, as plain JSON values."""
        return {name: value for name, value in self.plain().items() if name not in self.NOT_IN_KEY}

    def found_from(self, base: Path) -> Self:
        """A copy whose files and folders are found from ``base``."""
        return self

    def shown(self) -> dict[str, Any]:
        """`plain`, files and folders by their last names: paths say nothing about results."""
        return self.plain()


def within(default: float, low: float, high: float, description: str) -> Any:
    """A number as a setting, from ``low`` to ``high``."""
    return Field(default=default, ge=low, le=high, description=description)


def problems(
    error: ValidationError,
    called: Callable[[str], str] = str,
    unknown: Callable[[Place], str] = lambda place: "remove it",
) -> list[str]:
    """What is wrong with values that were refused, a text each: where, the value, what is allowed.

    ``error``: what pydantic says. ``called``: from the dotted name of a setting to the name that the user gave it by,
    such as an option's. ``unknown``: what to do about a key that nobody knows, from its place; ``did_you_mean`` helps.

    >>> class Chosen(Settings):
    ...     seed: int = 0
    >>> try:
    ...     Chosen(seed="x", sead=1)
    ... except ValidationError as error:
    ...     print(*problems(error), sep="; ")
    seed = 'x': Input should be a valid integer, unable to parse string as an integer; sead: unknown key; remove it
    """
    texts = []
    for item in error.errors():
        name = called(".".join(map(str, item["loc"])))
        message = item["msg"].removeprefix("Value error, ").replace("valid tuple", "valid list")  # TOML's word.
        if item["type"] == "extra_forbidden":
            texts.append(f"{name}: unknown key; {unknown(item['loc'])}")
        elif item["type"] == "missing":
            texts.append(f"{name}: missing; add it")
        elif not name:
            texts.append(message)
        elif isinstance(item["input"], Mapping | BaseModel):  # A whole group: its message names the keys.
            texts.append(f"{name}: {message}")
        else:
            # The password of a URL is for nobody's eyes.
            shown = re.sub(r"://[^\s'\"]*@|(?P<name>password\s*=\s*)[^&\s'\"]+", r"\g<name>***", repr(item["input"]))
            texts.append(f"{name} = {shown}: {message}")
    return texts


@dataclass(frozen=True)
class PublishedValue:
    """One value of a preset, and where it is from: a section of the paper, or why it is this where none gives it."""

    value: Any
    source: str


Preset = Mapping[str, "PublishedValue | Mapping[str, PublishedValue]"]
"""Values by key; of a group of settings inside the section, a mapping of its own."""


class PresetSettings(Settings):
    """Settings that a preset can give, named by the field ``preset`` that the subclass declares.

    The preset's values stand below those that are given: in groups inside the section, too.

    >>> from typing import Literal
    >>> class Walk(PresetSettings):
    ...     PRESETS = {"brisk": {"speed": PublishedValue(6.0, "section 2"), "steps": PublishedValue(9000, "section 3")}}
    ...     preset: Literal["brisk"] | None = None
    ...     speed: float = 4.0
    ...     steps: int = 1000
    >>> Walk(preset="brisk", steps=5)
    Walk(preset='brisk', speed=6.0, steps=5)
    """

    PRESETS: ClassVar[Mapping[str, Preset]] = {}

    @classmethod
    def preset_beside(cls, preset: Preset, values: Mapping[str, Any]) -> Preset:
        """What of ``preset`` is taken beside the ``values`` that were given; all of it, unless a section says else."""
        return preset

    @model_validator(mode="before")
    @classmethod
    def _over_the_preset(cls, values: Any) -> Any:
        preset = cls.PRESETS.get(str(values.get("preset"))) if isinstance(values, Mapping) else None
        return values if preset is None else _merged(cls.preset_beside(preset, values), values)

    def departures(self) -> Iterator[tuple[str, Any, PublishedValue]]:
        """Keys whose value is another than the preset's: the dotted name, the value, what the preset has."""
        return (row for row in self._beside_the_preset() if row[1] != row[2].value)

    @property
    def brought(self) -> frozenset[str]:
        """The dotted names of the keys that have the preset's value, so that nobody need have set them."""
        return frozenset(name for name, value, published in self._beside_the_preset() if value == published.value)

    def _beside_the_preset(self) -> Iterator[tuple[str, Any, PublishedValue]]:
        preset = self.PRESETS.get(str(getattr(self, "preset", None)), {})
        for name, published in items(self.preset_beside(preset, dict(self))):
            value: Any = self
            for part in name.split("."):
                value = getattr(value, part)
            yield name, value, published


def items(preset: Preset) -> Iterator[tuple[str, PublishedValue]]:
    """The values of a preset with their dotted names, in its order."""
    for name, given in preset.items():
        if isinstance(given, PublishedValue):
            yield name, given
        else:
            yield from ((f"{name}.{inner}", published) for inner, published in given.items())


def _merged(preset: Preset, values: Mapping[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for name, given in preset.items():
        if isinstance(given, PublishedValue):
            merged[name] = given.value
            continue
        group = {inner: published.value for inner, published in given.items()}
        own = values.get(name, {})
        # What is no mapping is a group made whole, or a mistake that the field will tell.
        merged[name] = {**group, **own} if isinstance(own, Mapping) else own
    groups = {name for name, given in preset.items() if not isinstance(given, PublishedValue)}
    return {**merged, **{name: value for name, value in values.items() if name not in groups}}
