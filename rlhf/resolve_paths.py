"""Paths in the tables of settings of what an alignment chooses by name: its partner, its environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from apportion.foundation.model_hub.names import is_folder_name
from apportion.llm_client.prompts.prompt_file import is_path

MADE_OF = re.compile(r"(policy|learned|recorded)@")
"""Before the folder or the file that one of the others in an environment is made of."""
PATHS: Mapping[str, Mapping[str, Callable[[str], bool]]] = {
    "partner_settings": {"policy": is_folder_name, "prompt": is_path},
    "environment_settings": {"tasks": lambda path: True, "other": lambda path: False},
}
"""By table, the keys that can hold a path, and what tells one from a name."""


def tables_placed(tables: Mapping[str, Mapping[str, Any]], place: Callable[[str], str]) -> dict[str, dict[str, Any]]:
    """Those of ``tables`` in which some path becomes another by ``place``, with it."""
    changes: dict[str, dict[str, Any]] = {}
    for table, paths in PATHS.items():
        placed = dict(tables[table])
        for name, is_one in paths.items():
            value = placed.get(name)
            if isinstance(value, str) and is_one(value):
                placed[name] = place(value)
            elif isinstance(value, str) and name == "other":
                placed[name] = ",".join(_other_placed(one, place) for one in value.split(","))
        if placed != tables[table]:
            changes[table] = placed
    return changes


def _other_placed(name: str, place: Callable[[str], str]) -> str:
    called = MADE_OF.match(name.strip())
    if called is None:
        return name
    path = name.strip()[called.end() :]
    path, *episode = path.split("#", 1) if called[1] == "recorded" else [path]
    # A model's name at a hub is no path; what scripts are made of always is one.
    return "#".join([called[0] + (place(path) if called[1] != "policy" or is_folder_name(path) else path), *episode])
