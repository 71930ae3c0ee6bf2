"""The Python API: a few names, imported on first use because torch takes seconds and most commands need none.

In a checkout, each package below `apportion` is a link to the folder of its name beside it (``apportion/corpus ->
../corpus``); a wheel holds the files themselves. Here stand `credit` (rewards of turns over tokens) and the
command line: `commands` (one file a command), `cli` (all of them, and the exit codes), `hints` (the options that help
after an error of a package below).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from apportion.decompose.conversation import decompose_dialogue
    from apportion.reward_model.model import RewardModel

__all__ = ["RewardModel", "decompose_dialogue"]


if not (Path(__file__).parent / "foundation").is_dir():  # git without links wrote a text file in place of each
    raise ImportError(
        "this checkout has text files in place of the links apportion/NAME -> ../NAME: on Windows turn on Developer "
        "Mode, then `git config core.symlinks true` and `git checkout -- apportion`, or install the wheel"
    )


def __getattr__(name: str) -> Any:
    from apportion.foundation.lazy import lazy_names

    return lazy_names(__name__, __file__)(name)
