"""The Python API: a few names, imported on first use because torch takes seconds and most commands need none.

``apportion.decompose`` is the function that shares one score out over the turns of a conversation; the package of the
same name that holds every method is the top-level ``decompose``. The command line stands beside it: `commands` (one
file a command), `cli` (all of them, and the exit codes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foundation.lazy import lazy_names

if TYPE_CHECKING:
    from decompose.conversation import decompose
    from reward_model.model import RewardModel

__all__ = ["RewardModel", "decompose"]
HOMES = {"RewardModel": "reward_model.model", "decompose": "decompose.conversation"}
__getattr__ = lazy_names(__name__, HOMES)
