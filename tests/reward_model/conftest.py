"""Tiny checkpoints, made once."""

from pathlib import Path

import pytest

from tests.reward_model.tiny import save_tiny


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("bert"), "bert")
