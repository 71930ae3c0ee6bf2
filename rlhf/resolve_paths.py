"""Paths and consent that a configuration, or a command, gives to what an alignment chooses by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from apportion.llm_client.prompts.prompt_file import is_path
from apportion.rlhf.policy.loading import is_folder_name
from apportion.rlhf.settings import AlignSettings

ANOTHER = "policy@"
"""Before the folder of the policy that has the other seat in an environment."""


def found_from(align: AlignSettings, base: Path) -> AlignSettings:
    """A copy whose prompts, tasks, and partner where it is a folder or asks by a file, are found from ``base``."""
    changes: dict[str, Any] = {}
    if align.prompts is not None:
        changes["prompts"] = Path(_from(base, str(align.prompts)))
    given = dict(align.partner_settings)
    for name, is_file in (("policy", is_folder_name), ("prompt", is_path)):
        if isinstance(given.get(name), str) and is_file(given[name]):
            given[name] = _from(base, given[name])
    if given != align.partner_settings:
        changes["partner_settings"] = given
    played = dict(align.environment_settings)
    if isinstance(played.get("tasks"), str):
        played["tasks"] = _from(base, played["tasks"])
    other, folder = str(played.get("other", "")), str(played.get("other", "")).removeprefix(ANOTHER)
    if other.startswith(ANOTHER) and is_folder_name(folder):
        played["other"] = f"{ANOTHER}{_from(base, folder)}"
    if played != align.environment_settings:
        changes["environment_settings"] = played
    return align.model_copy(update=changes) if changes else align


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


def shown(align: AlignSettings) -> dict[str, Any]:
    """What of these is shown in place of what it is: files and folders by their names."""
    changes: dict[str, Any] = {}
    if align.prompts is not None:
        changes["prompts"] = align.prompts.name
    given = dict(align.partner_settings)
    for name in ("policy", "prompt"):
        if Path(str(given.get(name, ""))).is_absolute():
            given[name] = Path(given[name]).name
    if given != align.partner_settings:
        changes["partner_settings"] = given
    played = dict(align.environment_settings)
    if Path(str(played.get("tasks", ""))).is_absolute():
        played["tasks"] = Path(played["tasks"]).name
    other = str(played.get("other", ""))
    if other.startswith(ANOTHER) and Path(other.removeprefix(ANOTHER)).is_absolute():
        played["other"] = f"{ANOTHER}{Path(other).name}"
    if played != align.environment_settings:
        changes["environment_settings"] = played
    return changes


def _from(base: Path, path: str) -> str:
    # Not Path.expanduser: a user that does not exist is no error here, the file is only not found.
    return os.path.normpath(base / os.path.expanduser(path))  # noqa: PTH111
