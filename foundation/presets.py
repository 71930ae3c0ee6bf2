"""Settings by name: values that somebody has published, which a user's own keys go before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import model_validator

from apportion.foundation.settings import Settings


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
