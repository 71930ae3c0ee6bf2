"""Options that come in groups, and what each is called."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import click


def with_options(options: Sequence[Any], command: Any) -> Any:
    """``command``, made or still a function, with ``options`` below its own, in their order."""
    # To a command click adds an option at the end, to a function that becomes one before those it has.
    for option in options if isinstance(command, click.Command) else reversed(options):
        command = option(command)
    return command


class JSONObject(click.ParamType[Any]):
    """An option whose value is one JSON object."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The object that ``value`` spells."""
        try:
            values = json.loads(value)
        except (ValueError, RecursionError) as error:
            self.fail(f"{value[:80]!r} is no JSON ({error}).", param, ctx)
        if not isinstance(values, dict):
            self.fail(f"{value[:80]!r} is no JSON object such as '{{\"top_k\": 20}}'.", param, ctx)
        return values


def option_names() -> Callable[[str], str]:
    """How the command that runs calls a parameter: ``--max-new-tokens`` for ``max_new_tokens``; others as they are."""
    parameters = click.get_current_context().command.params
    names = {parameter.name: parameter.opts[0] for parameter in parameters if isinstance(parameter, click.Option)}
    return lambda name: names.get(name, name)
