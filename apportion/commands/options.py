"""Options that come in groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def with_options(options: Sequence[Any], command: Any) -> Any:
    """``command`` with ``options``, shown in their order."""
    for option in reversed(options):
        command = option(command)
    return command
