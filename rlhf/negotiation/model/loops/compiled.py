"""What is compiled, and where that is kept between runs.

A compiled function holds the functions that it calls and the numbers that it was made with. numba looks for changes
only in the file of the function itself, so all are kept in a folder named by a digest of what they are made of.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from scipy.linalg import cython_blas

from apportion.environments.negotiation.action_encoding import ACTS, AGREE, DISAGREE, END, INSIST, SPLITS
from apportion.environments.negotiation.rules import MOST_ACTS
from apportion.environments.negotiation.vectorized.engine import KEPT, NO_ACT
from apportion.foundation.cache_dir import cache_folder
from apportion.foundation.errors import InputError
from apportion.rlhf.negotiation.data.dialogues import NOT_TAKEN, OTHERS, OWN, START

REORDERED = {"reassoc", "nsz", "contract"}
"""Sums may be added up in any order; what is not finite stays so."""
BLAS = cython_blas
"""What multiplies matrices in compiled functions; loaded by now, so that its threads can be limited."""
_FROM_ELSEWHERE = (
    *(KEPT.tolist(), SPLITS, ACTS, INSIST, AGREE, DISAGREE, END, NO_ACT, MOST_ACTS),
    *(OWN, OTHERS, START, NOT_TAKEN),
)
_HERE = Path(__file__).parents[1]
"""Whatever is compiled lies below."""
Function = TypeVar("Function", bound=Callable[..., Any])


def made_of(folder: Path = _HERE) -> str:
    """A digest of the sources below a folder, and of the numbers from elsewhere that they use."""
    found = hashlib.sha256(repr(_FROM_ELSEWHERE).encode())
    for path in sorted(folder.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def kept_in() -> Path | None:
    """The folder for what is compiled: beside the sources, else among the user's own; None where neither can be had."""
    name = f"compiled-{made_of()}"
    places: list[Callable[[], Path]] = [lambda: _HERE / "__pycache__", lambda: cache_folder() / "numba"]
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        places.insert(0, lambda: Path(given))
    for place in places:
        try:
            folder = place() / name
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, InputError):
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None


_KEPT_IN = kept_in()


def to_be_compiled(name: str) -> bool:
    """Whether a function, by its file's name and its own, is not compiled yet, so that whoever calls it has to wait."""
    return _KEPT_IN is None or not any(_KEPT_IN.rglob(f"{name}-*.nbi"))


def _made(function: Function, **options: Any) -> Function:
    options |= {"error_model": "numpy"}  # A check for division by zero would keep loops narrow.
    if _KEPT_IN is None:
        return numba.njit(**options)(function)  # type: ignore[no-any-return]
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(_KEPT_IN)  # Asked for once, when a function is told to be kept.
    try:
        return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    finally:
        config.CACHE_DIR = before


def compiled(function: Function) -> Function:
    """The function, compiled when it is first called. Division by zero gives what NumPy gives."""
    return _made(function)


def summing(function: Function) -> Function:
    """As `compiled`, where sums may be added up in any order."""
    return _made(function, fastmath=REORDERED)


def within(function: Function) -> Function:
    """As `compiled`, for what only compiled functions call: no way in from Python is made.

    Of functions that take tuples of many arrays that is most of the time of compiling.
    """
    return _made(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)
