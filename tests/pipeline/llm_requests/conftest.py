from functools import partial

import pytest

from tests.behaviour.command import in_process
from tests.pipeline.llm_run import write_run


@pytest.fixture
def folder(tmp_path):
    """A small corpus to be asked about."""
    return write_run(tmp_path)


@pytest.fixture
def apportion(monkeypatch):
    """`apportion ARGUMENTS` in this process."""
    return partial(in_process, monkeypatch)
