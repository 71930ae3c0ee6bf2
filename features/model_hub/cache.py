"""Fetching into the folder in which models are kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apportion.foundation.errors import InputError
from apportion.foundation.files import locked


@contextmanager
def fetching(folder: Path, wanted: Path) -> Iterator[None]:
    """Make a folder of the cache where it is missing, and keep others from fetching into it meanwhile.

    What the system refuses is told of ``wanted`` where the system does not say of which file.

    Raises
    ------
    InputError
        Another fetch is at work; no permission, no space.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        message = f"{folder}: another `apportion models fetch` is at work. Wait for it."
        with locked(folder / ".lock", message, InputError):
            yield
    except OSError as error:
        raise InputError(
            f"{error.filename or wanted}: {error.strerror}. Free space or change its owner, or set APPORTION_CACHE to "
            "a folder of yours."
        ) from None
