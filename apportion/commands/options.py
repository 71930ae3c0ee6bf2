"""Options that come in groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click


def with_options(options: Sequence[Any], command: Any) -> Any:
    """``command``, made or still a function, with ``options`` below its own, in their order."""
    # To a command click adds an option at the end, to a function that becomes one before those it has.
    for option in options if isinstance(command, click.Command) else reversed(options):
        command = option(command)
    return command
