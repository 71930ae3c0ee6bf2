"""What every group of settings is: frozen, and without keys that nobody knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Place = tuple[int | str, ...]


class Settings(BaseModel):
    """Base of all settings: values cannot be assigned, unknown keys are refused, and so are infinite numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    NOT_IN_KEY: ClassVar[frozenset[str]] = frozenset()
    """Fields that finished work does not depend on; whatever is not named here makes it stale when it changes."""
    SET_BY_THE_RUN: ClassVar[frozenset[str]] = frozenset()
    """Fields that are decided when a run begins, and that no configuration is offered."""


def within(default: float, low: float, high: float, description: str) -> Any:
    """A number as a setting, from ``low`` to ``high``."""
    return Field(default=default, ge=low, le=high, description=description)


def problems(
    error: ValidationError,
    called: Callable[[str], str] = str,
    unknown: Callable[[Place], str] = lambda place: "remove it",
) -> list[str]:
    """What is wrong with values that were refused, a text each: where, the value, what is allowed.

    Parameters
    ----------
    error : ValidationError
        What pydantic says.
    called : callable
        From the dotted name of a setting to the name that the user gave it by, such as an option's.
    unknown : callable
        What to do about a key that nobody knows, from its place; ``nearest.did_you_mean`` helps.

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
            texts.append(f"{name} = {item['input']!r}: {message}")
    return texts
