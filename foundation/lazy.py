"""Names of a package that are imported when they are first used, so that importing the package costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` that takes each name of ``homes`` from the module that it lives in.

    ``package``: The package's own ``__name__``, for the error. ``homes``: By name, the module to import.

    >>> homes = {"sqrt": "math"}
    >>> lazy_names("numbers", homes)("sqrt")(9.0)
    3.0
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(sorted(homes))}")
        return getattr(import_module(homes[name]), name)

    return find
