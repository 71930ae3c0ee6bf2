"""One small run for all tests that only look at it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `view` is not installed")

from tests.viewer.runs import Served, served, write_hostile_run, write_viewed_run
from tests.viewer.talks import write_talk_run


@pytest.fixture(scope="session")
def viewed_run(tmp_path_factory) -> Path:
    """The folder of a run (`write_viewed_run`). Not to be changed: tests that change one make their own."""
    return write_viewed_run(tmp_path_factory.mktemp("viewed"))


@pytest.fixture(scope="session")
def server(viewed_run) -> Iterator[Served]:
    """A server of ``viewed_run``."""
    with served(viewed_run) as running:
        yield running


@pytest.fixture(scope="session")
def hostile(tmp_path_factory) -> Iterator[Served]:
    """A server of a run whose ids and words are hostile (`write_hostile_run`)."""
    with served(write_hostile_run(tmp_path_factory.mktemp("hostile"))) as running:
        yield running


@pytest.fixture(scope="session")
def talk_run(tmp_path_factory) -> Path:
    """The folder of a run with recordings (`write_talk_run`). Not to be changed."""
    return write_talk_run(tmp_path_factory.mktemp("talks"))


@pytest.fixture(scope="session")
def talks(talk_run) -> Iterator[Served]:
    """A server of ``talk_run``."""
    with served(talk_run) as running:
        yield running
