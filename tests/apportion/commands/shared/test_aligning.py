from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import apportion.commands.runs as runs
from apportion.commands.shared.aligning import KEYS
from apportion.rlhf.algorithms import ALGORITHMS
from apportion.rlhf.settings import AlignSettings

CONFIG = 'corpus = "c"\noutput = "o"\n[align]\nsteps = 7\nlr = 0.5\n'


def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[Any, Any]:
    """What `apportion run --only align` ran with these words, and what it said."""
    made: list[Any] = []
    monkeypatch.setattr(runs, "run", lambda *given, **options: made.append((given, options)))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text(CONFIG)
    result = CliRunner().invoke(runs.run_command, ["--only", "align", *words], standalone_mode=False)
    return (made[0] if made else None), result


@pytest.mark.parametrize("way", ["", *ALGORITHMS])
def test_every_way_to_align_has_the_options_and_help_says_so(tmp_path, monkeypatch, way):
    words = ["--algorithm", way] if way else []
    _, result = asked(tmp_path, monkeypatch, *words, "--help")
    for key in KEYS:
        assert f"--{key.replace('_', '-')} " in result.output
    (tmp_path / "model").mkdir(exist_ok=True)
    given = ["--policy", "model", "--steps", "3", "--device", "cuda", "--beta", "0.5"]
    (arguments, options), _ = asked(tmp_path, monkeypatch, *words, "c.toml", *given)
    align: AlignSettings = arguments[0].align
    assert (align.steps, align.device, align.beta, align.lr) == (3, "cuda", 0.5, 0.5)
    assert align.policy == str(tmp_path / "model") and align.algorithm == (way or "ppo")
    named = {"algorithm": way} if way else {}
    assert options["given"] == {**named, "policy": "model", "steps": 3, "device": "cuda", "beta": 0.5}


def test_without_options_the_configuration_holds(tmp_path, monkeypatch):
    (arguments, options), _ = asked(tmp_path, monkeypatch, "c.toml")
    assert arguments[0].align == AlignSettings(steps=7, lr=0.5) and options["given"] == {}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--steps", "0"], "align: --steps = 0: Input should be greater than or equal to 1"),
        (["--processes", "30"], "align: processes 30 is more than batch_size 24; lower it"),
        (["--lr", "inf"], "align: --lr = inf: Input should be a finite number"),
    ],
)
def test_a_value_that_is_not_allowed_is_told_by_the_option(tmp_path, monkeypatch, words, told):
    _, result = asked(tmp_path, monkeypatch, "c.toml", *words)
    assert told in str(result.exception)
