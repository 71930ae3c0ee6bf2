"""What is made when it is first asked for: names of a package, values of a mapping."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from apportion.foundation.errors import InputError

V = TypeVar("V")


class LazyMapping(Mapping[str, V]):
    """A mapping whose keys are known, and whose values are made when they are first asked for.

    >>> lengths = LazyMapping(("one", "three"), len)
    >>> lengths["three"], list(lengths)
    (5, ['one', 'three'])
    """

    def __init__(self, keys: Iterable[str], make: Callable[[str], V]) -> None:
        self._keys, self._make = dict.fromkeys(keys), make
        self._made: dict[str, V] = {}

    def __getitem__(self, key: str) -> V:
        if key not in self._keys:
            raise KeyError(key)
        if key not in self._made:
            self._made[key] = self._make(key)
        return self._made[key]

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def named(place: str) -> Any:
    """What ``place`` names as ``module:attribute``; the module is imported here."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def load_named(place: str, called: str, remedy: str) -> Any:
    """The object that ``place`` names as ``module:attribute``.

    Raises ``InputError``: it cannot be imported; the error begins with what names it, ``called``, and ends with the
    ``remedy``.
    """
    try:
        return named(place)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"{called}: cannot load {place!r} ({error}). {remedy}") from None


def lazy_names(package: str, source: str) -> Callable[[str], Any]:
    """A package's ``__getattr__``: what its file imports for type checkers alone is imported when it is asked for.

    ``package``: the package's own ``__name__``, for the error. ``source``: its ``__file__``; the imports of its block
    ``if TYPE_CHECKING`` say which name lives in which module.
    """

    @cache
    def homes() -> dict[str, str]:
        body = ast.parse(Path(source).read_text(encoding="utf-8")).body
        blocks = (one.body for one in body if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING")
        imports = (one for block in blocks for one in block if isinstance(one, ast.ImportFrom) and one.module)
        return {alias.name: str(one.module) for one in imports for alias in one.names}

    def find(name: str) -> Any:
        if name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(sorted(homes()))}")
        return getattr(import_module(homes()[name]), name)

    return find
