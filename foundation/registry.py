"""Things that a person chooses by name: ours, and those that installed packages bring as entry points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from apportion.foundation.did_you_mean import nearest
from apportion.foundation.errors import InputError


@dataclass(frozen=True)
class Registry:
    """One kind of thing, found by its name; what is found is imported when it is first asked for.

    ``what`` is what one of them is called in errors, ``group`` the entry points by which packages name theirs,
    ``must_be`` what a package has to name, and ``fits`` whether something is that; ``ours`` has the place of each of
    our own as ``module:attribute``.

    >>> moments = Registry("moment", "nobody.moments", "a function", callable, {"mean": "statistics:fmean"})
    >>> moments.find("mean")([1.0, 3.0])
    2.0
    >>> moments.unknown("maen")
    "no moment 'maen'; did you mean 'mean'? Allowed: mean."
    """

    what: str
    group: str
    must_be: str
    fits: Callable[[Any], bool]
    ours: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def names(self) -> list[str]:
        """Every name: ours in their order, then the packages'."""
        return [*self.ours, *(name for name in points_of(self.group) if name not in self.ours)]

    def unknown(self, name: str) -> str | None:
        """What to tell a person who chose this name; None where there is such a thing."""
        allowed = self.names()
        if name in allowed:
            return None
        near = nearest(name, allowed)
        hint = f"; did you mean {near!r}?" if near else "."
        listed = f" Allowed: {', '.join(allowed)}." if allowed else f" No installed package brings any ({self.group})."
        return f"no {self.what} {name!r}{hint}{listed}"

    def find(self, name: str) -> Any:
        """What has this name.

        Raises ``InputError``: nothing has (with the nearest name and all that are allowed), or a package's cannot be
        loaded or used.
        """
        problem = self.unknown(name)
        if problem:
            raise InputError(problem)
        if name in self.ours:
            module, _, attribute = self.ours[name].partition(":")
            return getattr(import_module(module), attribute)
        return load_brought(points_of(self.group)[name], self.fits, self.must_be)


@cache
def points_of(group: str) -> Mapping[str, EntryPoint]:
    """The entry points that installed packages name in ``group``, by their name."""
    return {point.name: point for point in entry_points(group=group)}


def load_brought(point: EntryPoint, fits: Callable[[Any], bool], must_be: str) -> Any:
    """What a package's entry point names.

    Raises ``InputError``: it cannot be imported, or is not what it ``must_be``.
    """
    source = f"entry point {point.name!r} of {point.group} ({point.value})"
    try:
        thing = point.load()
    except Exception as error:  # Anything can go wrong while a stranger's module is imported.
        raise InputError(f"{source} cannot be loaded: {type(error).__name__}: {error}. Repair or remove it.") from None
    if not fits(thing):
        raise InputError(f"{source} is {thing!r}; it must be {must_be}.")
    return thing
