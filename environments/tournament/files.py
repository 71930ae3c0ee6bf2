"""A tournament's table beside the corpus that it was made of."""

from __future__ import annotations

import json
from pathlib import Path

from apportion.environments.tournament.page import page
from apportion.environments.tournament.standings import Standings
from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically


def table_paths(folder: Path) -> tuple[Path, Path]:
    """Where the table lies, as JSON and as Markdown."""
    return folder / "tournament.json", folder / "tournament.md"


def write_table(folder: Path, table: Standings, title: str) -> tuple[Path, Path]:
    """Write the table as JSON and as Markdown; equal results give equal bytes.

    Raises
    ------
    InputError
        The folder cannot be written.
    """
    document, text = table_paths(folder)
    try:
        write_atomically(document, as_json(table) + "\n")
        write_atomically(text, page(table, title))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error}); free some space") from None
    return document, text


def as_json(table: Standings) -> str:
    """The table as JSON text."""
    return json.dumps(table.to_json(), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
