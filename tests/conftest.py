"""What holds for every test: no time limits, and an emotion model that somebody has fetched is not found."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# A busy machine is no fault of the code.
settings.register_profile("apportion", deadline=None)
settings.load_profile("apportion")


@pytest.fixture(scope="session", autouse=True)
def no_fetched_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("APPORTION_CACHE")
    os.environ["APPORTION_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["APPORTION_CACHE"]
    else:
        os.environ["APPORTION_CACHE"] = before
