"""The state of an unfinished training on the disk: after a kill it goes on as if nothing had happened."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch

from apportion.foundation.files import write_atomically


def write_state(path: Path, state: dict[str, Any]) -> None:
    """Replace the state at ``path`` at once: a kill leaves the old one or the new one."""
    write_atomically(path, partial(torch.save, state))


def read_state(path: Path, expected: str) -> dict[str, Any] | None:
    """The state at ``path``; None where there is none, a damaged one, or that of another training.

    It is our own file, and all the same read without running anything that is pickled in it.
    """
    try:
        state: Any = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        return None
    except Exception:  # Whatever torch finds wrong with a damaged file: the training starts anew.
        return None
    return state if isinstance(state, dict) and state.get("fingerprint") == expected else None
