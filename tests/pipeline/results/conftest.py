"""A small run with the rewards of two methods."""

import shutil

import pytest

from apportion.pipeline.config import load_config
from apportion.pipeline.execution.local import run_locally
from tests.behaviour.command import config, without_workers
from tests.behaviour.small import write_small_corpus
from tests.pipeline.results.test_dataset import TEXT


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dataset")
    write_small_corpus(folder / "corpus", sessions=24)
    with without_workers():
        run_locally(load_config(config(folder, TEXT)), ["rewards"], quiet=True)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path / "made")
    return tmp_path / "made"
