import json
from functools import partial

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
