"""The 4,086 published contexts, for tests; skipped where the shared folder is not."""

import os
from functools import lru_cache
from pathlib import Path

import pytest

from apportion.environments.negotiation.contexts import Context, read_contexts


@lru_cache(maxsize=1)
def _read(path: Path) -> tuple[Context, ...]:
    return read_contexts(path)


def published_contexts() -> tuple[Context, ...]:
    """The contexts of Deal or No Deal's ``selfplay.txt``."""
    path = Path(os.environ.get("APPORTION_SHARED", "/nowhere")) / "data" / "dealornodeal" / "selfplay.txt.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there: set APPORTION_SHARED to the folder of public corpora")
    return _read(path)
