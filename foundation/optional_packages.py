"""Packages that come with an extra of ours."""

from __future__ import annotations

from importlib.util import find_spec

from apportion.foundation.errors import InputError


def check_extra(package: str, extra: str, setting: str, use: str) -> None:
    """Raise InputError where ``package`` of ``extra`` is not installed; ``setting`` asks for it, to ``use`` it."""
    if find_spec(package) is None:
        raise InputError(
            f"{setting}: {use} needs {package}. Install it with `pip install 'apportion[{extra}]'`, or take {setting} "
            "out of the configuration."
        )
