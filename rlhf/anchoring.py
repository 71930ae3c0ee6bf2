"""Paths and consent that a configuration, or a command, gives to what an alignment chooses by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from llm_client.prompts.prompt_file import is_path
from rlhf.policy.loading import is_folder_name
from rlhf.settings import AlignSettings


def found_from(align: AlignSettings, base: Path) -> AlignSettings:
    """A copy whose prompts, and whose partner where it is a folder or asks by a file, are found from ``base``."""
    changes: dict[str, Any] = {}
    if align.prompts is not None:
        changes["prompts"] = Path(_from(base, str(align.prompts)))
    given = dict(align.partner_settings)
    for name, is_file in (("policy", is_folder_name), ("prompt", is_path)):
        if isinstance(given.get(name), str) and is_file(given[name]):
            given[name] = _from(base, given[name])
    if given != align.partner_settings:
        changes["partner_settings"] = given
    return align.model_copy(update=changes) if changes else align


def consented(align: AlignSettings, host: str | None) -> AlignSettings:
    """A copy whose partner may send text to ``host``, where it asks a language model and nothing else is said."""
    if host is None or not align.partner_by.asks or align.partner_settings.get("send_to") is not None:
        return align
    return align.model_copy(update={"partner_settings": {**align.partner_settings, "send_to": host}})


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
    return changes


def _from(base: Path, path: str) -> str:
    # Not Path.expanduser: a user that does not exist is no error here, the file is only not found.
    return os.path.normpath(base / os.path.expanduser(path))  # noqa: PTH111
