"""The command line, and the few names of the Python API: ``from apportion import RewardModel, decompose``.

``apportion.decompose`` is the function that shares one score out over the turns of a conversation; the package of the
same name that holds every method is the top-level ``decompose``. Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decompose.conversation import decompose
    from reward_model.model import RewardModel

__all__ = ["RewardModel", "decompose"]

_HOMES = {"decompose": "decompose.conversation", "RewardModel": "reward_model.model"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)
