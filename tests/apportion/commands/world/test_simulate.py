"""`apportion world simulate`."""

import json
from functools import partial

import pytest

from tests.apportion.called import called

run = partial(called, "world", "simulate", "sotopia")


def test_episodes_become_a_corpus_and_the_next_command_is_told(tmp_path, capsys):
    out = str(tmp_path / "play")
    arguments = (out, "--scenario", "used_bicycle", "--scenario", "drum_kit", "--pairs", "2")
    assert run(*arguments) == 0
    told = capsys.readouterr().out
    assert "4 sessions" in told and "simulated" in told and f"next: apportion inspect {out}" in told
    assert run(*arguments, "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"]["sessions"] == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--agents", "concedin"), "did you mean 'conceding'?"),
        (("--scenario", "bike"), "no scenario 'bike'"),
        (("--pairs", "0"), "--pairs"),
        (("--visibility", "all"), "--visibility"),
        (("--agents", ","), "nothing to play"),
    ],
)
def test_bad_input_ends_with_code_2(tmp_path, capsys, arguments, message):
    assert run(str(tmp_path / "play"), *arguments) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "play").exists()
