"""Where a command writes: found out before any work, and what is said where it cannot be."""

from __future__ import annotations

import tempfile
from pathlib import Path

from foundation.errors import InputError


def check_place(path: Path, option: str) -> None:
    """Before hours are spent: raise InputError where no file can be written to ``path``; its folder is made."""
    if path.is_dir():
        raise InputError(f"{option} {path}: a folder. Name a file in it.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise unwritable(path, option, error) from None


def unwritable(path: Path, option: str, error: OSError) -> InputError:
    """The error of a file that the system does not let us write."""
    return InputError(f"{path}: cannot be written ({error.strerror}). Choose another place with {option}.")
