"""The published networks, where this machine has them; a test's own cache is empty."""

from __future__ import annotations

import pytest

from apportion.foundation.cache_dir import cache_folder
from apportion.foundation.model_hub.mesh import find_mesh

FOUND = find_mesh()
"""Looked for while tests are collected, when the cache still is the user's own."""
CACHE = cache_folder() if FOUND else None


@pytest.fixture
def mesh_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's cache with the face mesh in it; skips where it is not."""
    if CACHE is None:
        pytest.skip("the face mesh is not here: apportion models fetch mesh")
    monkeypatch.setenv("APPORTION_CACHE", str(CACHE))
