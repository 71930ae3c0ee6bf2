"""Paths and consent that a configuration, or a command, gives to what an alignment chooses by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from apportion.llm_client.prompts.prompt_file import is_path
from apportion.rlhf.policy.loading import is_folder_name
from apportion.rlhf.settings import AlignSettings

ANOTHER = "policy@"
"""Before the folder of the policy that has the other seat in an environment."""


def found_from(align: AlignSettings, base: Path) -> AlignSettings:
    """A copy whose prompts, tasks, and partner where it is a folder or asks by a file, are found from ``base``."""

    def found(path: str) -> str:
        # Not Path.expanduser: a user that does not exist is no error here, the file is only not found.
        return os.path.normpath(base / os.path.expanduser(path))  # noqa: PTH111

    changes = _placed(align, found)
    if align.prompts is not None:
        changes["prompts"] = Path(found(str(align.prompts)))
    return align.model_copy(update=changes) if changes else align


def shown(align: AlignSettings) -> dict[str, Any]:
    """What of these is shown in place of what it is: files and folders by their names."""
    changes = _placed(align, lambda path: Path(path).name if Path(path).is_absolute() else path)
    return changes if align.prompts is None else {**changes, "prompts": align.prompts.name}


def _placed(align: AlignSettings, place: Callable[[str], str]) -> dict[str, Any]:
    """The tables of settings in which some path becomes another by ``place``, with it."""
    changes: dict[str, Any] = {}
    for table, paths in (
        ("partner_settings", {"policy": is_folder_name, "prompt": is_path}),
        ("environment_settings", {"tasks": lambda path: True, "other": lambda path: False}),
    ):
        given = getattr(align, table)
        placed = dict(given)
        for name, is_one in paths.items():
            value = given.get(name)
            if isinstance(value, str) and is_one(value):
                placed[name] = place(value)
            elif isinstance(value, str) and value.startswith(ANOTHER) and is_folder_name(value.removeprefix(ANOTHER)):
                placed[name] = f"{ANOTHER}{place(value.removeprefix(ANOTHER))}"
        if placed != given:
            changes[table] = placed
    return changes


def consented(align: AlignSettings, host: str | None) -> AlignSettings:
    """A copy whose partner may send text to ``host``, where it asks a language model and nothing else is said."""
    if host is None:
        return align
    changes: dict[str, Any] = {}
    if align.partner_by.asks and align.partner_settings.get("allow_host") is None:
        changes["partner_settings"] = {**align.partner_settings, "allow_host": host}
    asked = align.environment_settings.get("llm")
    if isinstance(asked, dict) and asked.get("allow_host") is None:
        changes["environment_settings"] = {**align.environment_settings, "llm": {**asked, "allow_host": host}}
    return align.model_copy(update=changes) if changes else align
