"""The command line in this process: arguments, help and inspect; tests/behaviour runs whole commands."""

import json
import subprocess
import sys

import pytest

from apportion.cli import cli, main
from apportion.pipeline.stages.registry import STAGES
from tests.behaviour.command import ROOT, environment
from tests.behaviour.small import write_small_corpus


def run(capsys, *arguments) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def test_every_stage_has_its_command_and_every_command_its_help(capsys):
    for name in {stage.cli for stage in STAGES} | set(cli.commands):
        code, out, _ = run(capsys, *name.split(), "--help")
        assert code == 0
        assert f"Usage: apportion {name}" in out


def test_help_loads_no_heavy_library():
    script = (
        "import sys; from apportion.cli import cli; "
        "print([n for n in ('torch', 'transformers', 'librosa', 'cv2', 'pandas', 'openai', 'pyarrow') "
        "if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_inspect_as_text_and_as_json(tmp_path, capsys):
    corpus = write_small_corpus(tmp_path / "corpus", sessions=3)
    code, out, _ = run(capsys, "inspect", corpus)
    assert (code, "satisfaction" in out, "next: apportion init" in out) == (0, True, True)
    code, out, _ = run(capsys, "inspect", corpus, "--json")
    assert json.loads(out)["sessions"] == 3


def test_an_option_without_a_value(tmp_path, capsys):
    code, _, err = run(capsys, "import", "chat", tmp_path, tmp_path / "c", "-o", "low")
    assert (code, "KEY=VALUE" in err) == (2, True)


def test_a_corpus_that_is_not_there(tmp_path, capsys):
    code, _, err = run(capsys, "inspect", tmp_path / "none")
    assert code == 2
    assert err.startswith("error: ")


def test_a_dry_run_does_nothing(tmp_path, capsys):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    (tmp_path / "a.toml").write_text('corpus = "corpus"\noutput = "run"\n[decompose]\nmethods = ["uniform"]\n')
    code, out, _ = run(capsys, "decompose", tmp_path / "a.toml", "--dry-run", "--json", "--limit", "5")
    assert code == 0
    plan = {row["stage"]: row["units"] for row in json.loads(out)["stages"]}
    assert plan == {"split": 1, "react": 0, "judge": 5, "fit": 0, "rewards": 1}
    assert not (tmp_path / "run" / "rewards.parquet").exists()


def test_the_demo_without_its_corpus(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("apportion.commands.runs.DEMO_CONFIG", tmp_path / "none.toml")
    code, _, err = run(capsys, "demo")
    assert (code, "install it again" in err) == (2, True)


def test_a_failure_that_stops_the_work_is_exit_code_one(capsys, monkeypatch):
    from apportion.foundation.errors import UnitError

    def fails(**kwargs):
        raise UnitError("the store was changed by hand")

    monkeypatch.setattr(cli.commands["doctor"], "callback", fails)
    code, _, err = run(capsys, "doctor")
    assert (code, err) == (1, "error: the store was changed by hand\n")


@pytest.mark.parametrize(("command", "allowed"), [("align", "ppo, grpo, rloo, sft"), ("decompose", "audit")])
def test_an_unknown_command_below_is_told_with_those_that_are_there(capsys, command, allowed):
    code, _, err = run(capsys, command, "nonsense", "config.toml")
    assert code == 2
    assert f"'nonsense' is none of: {allowed}" in err
