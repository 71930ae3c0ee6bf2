"""Fixtures of the language model client's tests."""

import pytest

from apportion.llm_client.cache.server_leases import on_server
from tests.llm_client.batching import PRICES


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Where replies are kept: a file that is not there yet, and an empty database of a server."""
    made = tmp_path / "cache.sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres").ledger()
    (tmp_path / "place").write_text(str(made))
    yield made
    if on_server.cache_info().currsize:
        on_server(made).close()
        on_server.cache_clear()


@pytest.fixture
def folder(tmp_path, place):
    """A folder with a price table, and where its replies are kept."""
    (tmp_path / "prices.toml").write_text(PRICES)
    return tmp_path


@pytest.fixture
def no_pause(monkeypatch):
    """Whoever has no word of the server to wait by comes back at once."""
    monkeypatch.setattr("apportion.llm_client.transport.retry.own_wait_s", lambda failures: 0.01)
