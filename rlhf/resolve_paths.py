"""Paths in the tables of settings of what an alignment chooses by name: its partner, its environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apportion.foundation.model_hub.names import is_folder_name
from apportion.llm_client.prompts.prompt_file import is_path

ANOTHER = "policy@"
"""Before the folder of the policy that has the other seat in an environment."""
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
            elif isinstance(value, str) and value.startswith(ANOTHER) and is_folder_name(value.removeprefix(ANOTHER)):
                placed[name] = f"{ANOTHER}{place(value.removeprefix(ANOTHER))}"
        if placed != tables[table]:
            changes[table] = placed
    return changes
