"""Patterns of a finished run: found for each method, kept beside it as Markdown and JSON, and read again by pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from apportion.evaluation.error_slices.find import find_patterns
from apportion.evaluation.error_slices.result import Patterns, PatternSettings
from apportion.evaluation.error_slices.table import markdown
from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.pipeline.error_slices.read import read_turns
from apportion.pipeline.results.run_folder import open_run, read_record, session_file_name

FOLDER = "patterns"
"""In the run's folder."""


def write_patterns(
    source: Path, corpus: Path | None, methods: tuple[str, ...], settings: PatternSettings, backbone: str
) -> Iterator[Patterns]:
    """Look for patterns in a run's rewards, a method at a time; each is written into ``RUN/patterns/`` as it is given.

    ``source``, ``corpus``: as `apportion.pipeline.results.run_folder.open_run` takes them. ``methods``: all that have
    rewards where empty. ``backbone``: embeds the turns where the run has not. Raises InputError: no run, no rewards, no
    such method, a backbone that cannot be loaded, a folder that cannot be written to.
    """
    run = open_run(source, corpus)
    out = run.folder / FOLDER
    try:
        turns = read_turns(run, read_record(run.folder), methods, out, backbone)
        for method in sorted(turns.rewards):
            found = find_patterns(turns.of(method), method, settings)
            text = json.dumps(found.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
            write_atomically(out / f"{session_file_name(method)}.json", text + "\n")
            write_atomically(out / f"{session_file_name(method)}.md", markdown(found))
            yield found
    except OSError as error:
        raise InputError(
            f"{out}: cannot be written ({error.strerror}). Make it writable, or copy the run elsewhere."
        ) from None


def read_patterns(run_folder: Path) -> dict[str, dict[str, Any]]:
    """What `write_patterns` left beside a run, by method; a file that is damaged is passed over.

    Its columns are those of `apportion.evaluation.error_slices.result.Patterns.to_json`.
    """
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((run_folder / FOLDER).glob("*.json")):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            found[str(document["method"])] = document
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return found
