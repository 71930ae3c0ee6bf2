"""The Python API: a few names, imported on first use because torch takes seconds and most commands need none."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reward_model.model import RewardModel

__all__ = ["RewardModel"]
HOMES = {"RewardModel": "reward_model.model"}


def __getattr__(name: str) -> object:
    """A name of the API, from the package that it lives in."""
    if name in HOMES:
        return getattr(import_module(HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
