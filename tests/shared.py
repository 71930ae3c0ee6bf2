"""Where the real corpora and recordings are that some tests read; they are not part of the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("APPORTION_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def shared(relative: str) -> Path:
    """The path of a shared file, or a skip that says what is missing and how to point to it."""
    path = ROOT / relative
    if not path.exists():
        pytest.skip(f"{relative} is not in {ROOT}: set APPORTION_SHARED to the folder that holds it")
    return path
