"""The option that takes published settings by name."""

from __future__ import annotations

import shlex
from typing import Any

import click

from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.pipeline.config import PRESET_NAMES


def known_preset(context: click.Context, parameter: click.Parameter, name: Any) -> Any:
    """Find out whether there is a preset of this name before anything is read."""
    if name is not None and name not in PRESET_NAMES:
        hint = did_you_mean(name, PRESET_NAMES, after=" ")
        raise InputError(f"{parameter.opts[0]} {name!r}: no such preset; {hint}Allowed: {', '.join(PRESET_NAMES)}.")
    return name


PRESET_OPTION = click.option(
    "--preset",
    metavar="NAME",
    callback=known_preset,
    help="Settings by name, below every key of CONFIG: `paper` (LLM-GELI) or `savoir`.",
)


def preset_given(preset: str | None) -> str:
    """The option as it was given, to be repeated in a command that is shown."""
    return "" if preset is None else f" --preset {shlex.quote(preset)}"
