"""``--config FILE``: a command's options by name from a TOML file."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import click

from apportion.commands.shared.options import PATH


def _read(context: click.Context, parameter: click.Parameter, given: Path | None) -> None:
    """Take the file's values for the options that the command line leaves out.

    Raises InputError: it cannot be read, is no TOML, names an option that the command has not, or
    gives one a value that it does not take.
    """
    from apportion.corpus.files.textfile import read_text
    from apportion.foundation.did_you_mean import did_you_mean
    from apportion.foundation.errors import InputError

    if given is None:
        return
    try:
        values = tomllib.loads(read_text(given))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{given}: not valid TOML ({error}). Correct that line.") from None
    options = {
        name.removeprefix("--"): one
        for one in context.command.params
        if isinstance(one, click.Option) and one is not parameter
        for name in one.opts
    }
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name not in options:
            raise InputError(f"{given}: {name}: no such option; {did_you_mean(name, options, 'remove it')}")
        found[str(options[name].name)] = _as_given(value, options[name])
        try:
            options[name].type_cast_value(context, found[str(options[name].name)])
        except click.BadParameter as error:
            raise InputError(f"{given}: {name}: {error.message}") from None
    context.default_map = {**(context.default_map or {}), **found}


def _as_given(value: Any, option: click.Option) -> Any:
    """A value as the command line would have it; a list with commas between, where the option is given once."""
    if isinstance(value, dict):
        return json.dumps(value)
    return ",".join(map(str, value)) if isinstance(value, list) and not option.multiple else value


CONFIG = click.option(
    "--config",
    "-c",
    type=PATH,
    metavar="FILE.toml",
    is_eager=True,
    expose_value=False,
    callback=_read,
    help="Options by name from this file; those given here go before.",
)
