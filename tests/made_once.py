"""What is dear to make, made once for all test processes beside each other (``pytest -n``)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder ``name`` that ``make`` has filled, by the first process that asks; the others wait for it.

    It is this test run's own, and only to be read. Where ``make`` fails, the next process begins anew.
    """
    own = factory.getbasetemp()
    place = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder, made = place / name, place / f"{name}.made"
    with FileLock(place / f"{name}.lock"):
        if not made.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            made.touch()
    return folder
