"""Options that come in groups, and what each is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click


def with_options(options: Sequence[Any], command: Any) -> Any:
    """``command``, made or still a function, with ``options`` below its own, in their order."""
    # To a command click adds an option at the end, to a function that becomes one before those it has.
    for option in options if isinstance(command, click.Command) else reversed(options):
        command = option(command)
    return command


def option_names() -> Callable[[str], str]:
    """How the command that runs calls a parameter: ``--max-new-tokens`` for ``max_new_tokens``; others as they are."""
    parameters = click.get_current_context().command.params
    names = {parameter.name: parameter.opts[0] for parameter in parameters if isinstance(parameter, click.Option)}
    return lambda name: names.get(name, name)
