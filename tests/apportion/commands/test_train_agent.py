import json

from tests.apportion.called import called

CONFIG = """
method = "rl"
seeds = [0, 1]
[data]
scripted = 40
[network]
embedding = 8
hidden = 8
[supervised]
epochs = 1
[reinforce]
games = 8
[evaluation]
contexts = 10
"""


def test_it_names_what_it_wrote_and_the_next_command_which_works(tmp_path, capsys):
    config = tmp_path / "agent.toml"
    config.write_text(CONFIG)
    assert called("train", "negotiator", config) == 0
    out = capsys.readouterr().out
    agent = tmp_path / "negotiator" / "agents" / "seed-0"
    assert "seed 1: advantage" in out and f"wrote 2 agents into {agent.parent}" in out
    assert out.splitlines()[-1] == f"next: apportion world simulate negotiation CORPUS --agents learned@{agent},fair"
    plays = f"world simulate negotiation {tmp_path / 'corpus'} --agents learned@{agent},fair --games 2"
    assert called(*plays.split()) == 0
    capsys.readouterr()
    assert called("train", "negotiator", config, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["agents"]) == 2 and {row["epoch"] for row in shown["figures"]} == {0, 1}


def test_a_missing_file_is_exit_code_2(tmp_path, capsys):
    assert called("train", "negotiator", tmp_path / "none.toml") == 2 and "none.toml" in capsys.readouterr().err
