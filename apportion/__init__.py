"""The Python API: a few names, imported on first use because torch takes seconds and most commands need none.

``apportion.decompose`` is the function that shares one score out over the turns of a conversation; the package of the
same name that holds every method is the top-level ``decompose``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decompose.conversation import decompose
    from reward_model.model import RewardModel

__all__ = ["RewardModel", "decompose"]
HOMES = {"RewardModel": "reward_model.model", "decompose": "decompose.conversation"}


def __getattr__(name: str) -> object:
    """A name of the API, from the package that it lives in."""
    if name in HOMES:
        return getattr(import_module(HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
