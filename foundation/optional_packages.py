"""Packages that come with an extra of ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from apportion.foundation.errors import InputError


def check_installed(packages: Iterable[str], extra: str, use: str) -> None:
    """Raise InputError where a package of ``extra`` that ``use`` needs is not installed."""
    for package in packages:
        if find_spec(package) is None:
            raise InputError(f"{use} needs {package}. Install it with `pip install 'apportion[{extra}]'`.")


@contextmanager
def imports_of(extra: str, use: str) -> Iterator[None]:
    """Raise InputError where the imports below lack a package of ``extra`` that ``use`` needs."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise InputError(f"{use} needs {error.name}. Install it with `pip install 'apportion[{extra}]'`.") from None


def check_extra(package: str, extra: str, setting: str, use: str) -> None:
    """Raise InputError where ``package`` of ``extra`` is not installed; ``setting`` asks for it, to ``use`` it."""
    if find_spec(package) is None:
        raise InputError(
            f"{setting}: {use} needs {package}. Install it with `pip install 'apportion[{extra}]'`, or take {setting} "
            "out of the configuration."
        )
