"""Fixtures of the language model client's tests."""

import pytest

from tests.llm_client.batching import PRICES


@pytest.fixture
def folder(tmp_path):
    """A folder with a price table."""
    (tmp_path / "prices.toml").write_text(PRICES)
    return tmp_path
