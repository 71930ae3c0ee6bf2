"""Fixtures of the language model client's tests."""

import pytest

from tests.llm_client.batching import PRICES


@pytest.fixture
def folder(tmp_path):
    """A folder with a price table."""
    (tmp_path / "prices.toml").write_text(PRICES)
    return tmp_path


@pytest.fixture
def no_pause(monkeypatch):
    """Whoever has no word of the server to wait by comes back at once."""
    monkeypatch.setattr("apportion.llm_client.transport.retry.own_wait_s", lambda failures: 0.01)
