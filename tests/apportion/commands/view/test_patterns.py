"""`apportion patterns`: what it prints, and its exit codes."""

import json

import pytest

from tests.behaviour.command import in_process
from tests.pipeline.error_slices.planted_run import plant, write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = write_run(tmp_path_factory.mktemp("patterns"))
    plant(run)
    return run


def test_it_prints_what_it_writes(run, monkeypatch):
    result = in_process(monkeypatch, "patterns", run)
    assert result.returncode == 0, result.stderr
    assert "# What costs us, by sentiment" in result.stdout and "rephrase" in result.stdout
    assert (run / "patterns" / "sentiment.md").read_text().strip() in result.stdout
    assert (run / "patterns" / "uniform.json").is_file() and "next: apportion view RUN" in result.stdout


def test_as_json(run, monkeypatch):
    result = in_process(monkeypatch, "patterns", run, "--method", "sentiment", "--json")
    (found,) = json.loads(result.stdout)
    assert found == json.loads((run / "patterns" / "sentiment.json").read_text())


def test_unusable_input_ends_with_2(run, monkeypatch, tmp_path):
    result = in_process(monkeypatch, "patterns", run, "--method", "llm")
    assert result.returncode == 2 and "method 'llm': no rewards" in result.stderr
    assert in_process(monkeypatch, "patterns", tmp_path).returncode == 2
