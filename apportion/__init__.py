"""The Python API: a few names, imported on first use because torch takes seconds and most commands need none.

``apportion.decompose`` is the function that shares one score out over the turns of a conversation; the package of the
same name that holds every method is the top-level ``decompose``. The command line stands beside it: `own_names`
(whether our packages are ours), `hints` (the options that help after an error of a package below), `commands` (one file
a command), `cli` (all of them, and the exit codes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decompose.conversation import decompose
    from reward_model.model import RewardModel

__all__ = ["RewardModel", "decompose"]
HOMES = {"RewardModel": "reward_model.model", "decompose": "decompose.conversation"}


def __getattr__(name: str) -> Any:
    # Imported only now, so that a command can look first whether `foundation` is ours (`apportion.own_names`).
    from foundation.lazy import lazy_names

    return lazy_names(__name__, HOMES)(name)
