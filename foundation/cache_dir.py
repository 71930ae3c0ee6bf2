"""The folder of this user in which is kept what can be had again: fetched models, indexes, compiled code."""

from __future__ import annotations

import os
from pathlib import Path

from apportion.foundation.errors import InputError


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
        raise InputError("no home folder to keep things in: set APPORTION_CACHE to a folder of yours.") from None
