"""Every way from one score of a conversation to a reward for each of its turns.

>>> from decompose import decompose
>>> chat = [
...     {"role": "assistant", "content": "Which city?"},
...     {"role": "user", "content": "Rome, great!"},
...     {"role": "assistant", "content": "There is no such place."},
...     {"role": "user", "content": "Terrible."},
... ]
>>> [round(turn.reward, 2) for turn in decompose(chat, 2, scale=(1, 5), method="sentiment").turns]
[1.57, 0.43]

Names are imported when they are first used, so that this package costs nothing to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decompose.conversation import Decomposition, TurnReward, decompose
    from decompose.settings import DecomposeSettings
    from decompose.tools import Tools

__all__ = ["DecomposeSettings", "Decomposition", "Tools", "TurnReward", "decompose"]

_HOMES = {
    "Decomposition": "decompose.conversation",
    "TurnReward": "decompose.conversation",
    "decompose": "decompose.conversation",
    "DecomposeSettings": "decompose.settings",
    "Tools": "decompose.tools",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)
