"""The curves of a training that did not end, as its newest checkpoint has them."""

from __future__ import annotations

import json
from pathlib import Path

STEP, STATE = "step-", "state.json"
"""What a checkpoint's folder begins with, and the file in it."""


def measured_until(checkpoints: Path) -> dict[tuple[int, str], float]:
    """Step (from 1) and metric to value, of all steps that the newest checkpoint has behind it.

    Empty where there is none, or where it cannot be read: whoever goes on from it says so.
    """
    newest = max(checkpoints.glob(f"{STEP}*"), default=None)
    if newest is None:
        return {}
    try:
        rows = json.loads((newest / STATE).read_text(encoding="utf-8"))["history"]
        return {(int(step), str(name)): float(value) for step, name, value in rows}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
