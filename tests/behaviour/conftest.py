from functools import partial

import pytest

from tests.behaviour.command import in_process


@pytest.fixture
def apportion(monkeypatch):
    """`apportion ARGUMENTS` in this process: its exit code and what it says."""
    return partial(in_process, monkeypatch)


@pytest.fixture
def decompose(apportion):
    """`apportion run --only decompose ARGUMENTS`, likewise."""
    return partial(apportion, "run", "--only", "decompose")


@pytest.fixture
def align(apportion):
    """`apportion run --only align ARGUMENTS`, likewise."""
    return partial(apportion, "run", "--only", "align")
