import json

import pytest

from tests.apportion.test_cli import run
from tests.behaviour.command import apportion
from tests.behaviour.small import write_small_corpus


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none"], "no such folder"),
        (["corpus", "--method", "unifrom"], "did you mean 'uniform'"),
        (["corpus", "--session", "s77"], "no such session"),
        (["corpus", "--rating", "mood"], "mood"),
        (["corpus", "--config", "none.toml"], "none.toml: no such file"),
        (["corpus", "--seeds", "0"], "--seeds"),
        (["corpus", "--limit", "0"], "--limit"),
    ],
)
def test_what_cannot_be_benchmarked_is_said_before_any_work(tmp_path, monkeypatch, capsys, arguments, message):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, "benchmark", *arguments)
    assert code == 2
    assert message in err
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_from_the_shell_twice(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=14)
    (tmp_path / "settings.toml").write_text('corpus = "elsewhere"\n[train_reward]\nepochs = 1\n')
    arguments = ["benchmark", "corpus", "--config", "settings.toml", "--method", "uniform", "--method", "reaction"]
    first = apportion(*arguments, "--seeds", "2", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    page = tmp_path / "runs" / "benchmark-corpus" / "benchmark.md"
    assert f"next: read {page}" in first.stdout
    assert "methods: uniform, reaction; seeds 0, 1" in first.stderr
    before = page.read_bytes()
    again = apportion(*arguments, "--seeds", "2", "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    told = json.loads(again.stdout)
    assert told["benchmark"]["benchmark"] == str(page)
    assert set(told["units"]["train-reward"]) == {"reused"}
    assert page.read_bytes() == before
