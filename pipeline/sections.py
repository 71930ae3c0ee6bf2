"""The sections of the configuration: where the class of each is, and values that nothing has asked for yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.lazy import named
from apportion.foundation.settings import Place, PresetSettings, Settings, problems

SECTIONS: Mapping[str, str] = {
    "split": "apportion.corpus.splits.settings:SplitSettings",
    "features": "apportion.features.settings:FeatureSettings",
    "verbalize": "apportion.features.settings:DescriptorSettings",
    "decompose": "apportion.decompose.settings:DecomposeSettings",
    "train_reward": "apportion.reward_model.settings:RewardModelSettings",
    "evaluate": "apportion.evaluation.settings:EvaluationSettings",
    "align": "apportion.rlhf.settings:AlignSettings",
}


def section_class(name: str) -> type[Settings]:
    """The class of a section's settings; its package is imported here."""
    kind: type[Settings] = named(SECTIONS[name])
    return kind


class Section:
    """A section as it was given, read when it is first asked for.

    ``preset`` is the one that the whole configuration names, ``base`` the folder from which files are found, ``source``
    the configuration's file, for errors.
    """

    def __init__(self, name: str, values: Any, preset: str | None, base: Path | None, source: str) -> None:
        self.given = (name, values, preset, base, source)

    def __reduce__(self) -> tuple[type[Section], tuple[Any, ...]]:
        return Section, self.given  # Not what was read: another process may never ask for it.

    def __eq__(self, other: object) -> bool:
        return bool(self.settings == (other.settings if isinstance(other, Section) else other))

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def settings(self) -> Settings:
        """The settings; raises InputError where a value is not allowed."""
        try:
            return self._read()
        except ValidationError as error:
            name, *_, source = self.given
            raise cannot_be_used(error, source, within=(name,)) from None

    @property
    def is_given(self) -> bool:
        """Whether anything stands in it."""
        return bool(self.given[1])

    def check(self) -> None:
        """Raise ValidationError where a value is not allowed."""
        self.__dict__["settings"] = self._read()

    def _read(self) -> Settings:
        name, values, preset, base, _ = self.given
        kind = section_class(name)
        # A section that is no table is a mistake that its class will tell.
        if isinstance(values, Mapping) and issubclass(kind, PresetSettings) and preset in kind.PRESETS:
            values = {"preset": preset, **values}
        settings = kind.model_validate(values)
        return settings if base is None else settings.found_from(base)


def cannot_be_used(
    error: ValidationError, source: str, within: Place = (), top: type[BaseModel] = Settings
) -> InputError:
    """The error of a configuration with all that is wrong with it; ``within`` is the section, ``top`` the whole."""

    def unknown(place: Place) -> str:
        allowed = _keys_at((*within, *place)[:-1], top)
        return f"{did_you_mean(str(place[-1]), allowed, 'remove it.')} Allowed: {', '.join(allowed)}."

    def called(name: str) -> str:
        return ".".join(part for part in (*map(str, within), name) if part)

    lines = "\n".join(f"  {problem.rstrip('.')}." for problem in problems(error, called, unknown))
    return InputError(f"{source}: the configuration cannot be used.\n{lines}")


def _keys_at(place: Place, top: type[BaseModel]) -> list[str]:
    model = top
    for number, part in enumerate(place):
        inner = section_class(str(part)) if not number and part in SECTIONS else keys_of(model)[str(part)]
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return sorted(keys_of(model))


def keys_of(model: type[BaseModel]) -> dict[str, Any]:
    """The type of each key; packages' methods have sections among those of ours."""
    keys = {name: field.annotation for name, field in model.model_fields.items()}
    brought: Callable[[], dict[str, Any]] = getattr(model, "brought_sections", dict)
    return {**keys, **brought()}
