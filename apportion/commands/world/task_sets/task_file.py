"""What commands that write a file of tasks say alike."""

from __future__ import annotations

from pathlib import Path

import click

FORCE_OPTION = click.option("--force", is_flag=True, help="Replace a file that is there.")
BUNDLED = "[default: what comes with the project]"
"""Where tasks come from that nobody says where they come from."""


def next_step(out: Path) -> str:
    """How the file ``out`` is played."""
    return f"next: apportion world simulate sotopia CORPUS --tasks {out}"
