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

from typing import TYPE_CHECKING

from foundation.lazy import lazy_names

if TYPE_CHECKING:
    from decompose.conversation import Decomposition, TurnReward, decompose
    from decompose.settings import DecomposeSettings
    from llm_client.asker import Asker

__all__ = ["Asker", "DecomposeSettings", "Decomposition", "TurnReward", "decompose"]

_HOMES = {
    "Decomposition": "decompose.conversation",
    "TurnReward": "decompose.conversation",
    "decompose": "decompose.conversation",
    "DecomposeSettings": "decompose.settings",
    "Asker": "llm_client.asker",
}
__getattr__ = lazy_names(__name__, _HOMES)
