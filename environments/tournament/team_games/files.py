"""A league's tables beside the corpus that they were made of."""

from __future__ import annotations

import json
from pathlib import Path

from apportion.environments.report_tables.report import Report
from apportion.environments.tournament.files import table_paths
from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically


def write_league(folder: Path, report: Report) -> tuple[Path, Path]:
    """Write all tables as JSON and as Markdown; equal results give equal bytes.

    Raises
    ------
    InputError
        The folder cannot be written.
    """
    document, text = table_paths(folder)
    try:
        write_atomically(document, league_json(report) + "\n")
        write_atomically(text, report.markdown())
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error}); free some space") from None
    return document, text


def league_json(report: Report) -> str:
    """The tables as JSON text."""
    return json.dumps(report.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
