"""The folder in which fetched models are kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foundation.errors import InputError
from foundation.files import locked


def cache_folder() -> Path:
    """``$APPORTION_CACHE``, else ``$XDG_CACHE_HOME/apportion``, else ``~/.cache/apportion``."""
    given, base = os.environ.get("APPORTION_CACHE"), os.environ.get("XDG_CACHE_HOME")
    if given:
        return Path(given).absolute()
    if base and Path(base).is_absolute():  # A relative path there is to be ignored (XDG base directory specification).
        return Path(base) / "apportion"
    try:
        return Path.home() / ".cache" / "apportion"
    except RuntimeError:
        raise InputError("no home folder for the cache of models: set APPORTION_CACHE to a folder of yours.") from None


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
