"""How a policy was trained to be asked: what it reads of a dialogue, and how its replies are drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from apportion.rlhf.policy_settings import Window

FILE = "window.json"
FIELDS = tuple(Window.model_fields)


def write_window(folder: Path, window: Window) -> None:
    """Write ``window`` beside a policy; equal windows give equal bytes."""
    (folder / FILE).write_text(json.dumps(window.model_dump(), indent=2, sort_keys=True) + "\n", encoding="utf-8")


def window_path(policy: str) -> Path:
    """Where the window of the policy in the folder ``policy`` is."""
    return Path(policy).expanduser() / FILE


def read_window(policy: str) -> dict[str, Any]:
    """The window beside a policy, unchecked; empty where ``policy`` is no folder or has none that can be read."""
    try:
        values = json.loads(window_path(policy).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: values[name] for name in FIELDS if name in values} if isinstance(values, dict) else {}
