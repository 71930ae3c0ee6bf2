import json

import pytest

from apportion.cli import main

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
    with pytest.raises(SystemExit) as ended:
        main(["train", "negotiator", str(config)])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    agent = tmp_path / "negotiator" / "agents" / "seed-0"
    assert "seed 1: advantage" in out and f"wrote 2 agents into {agent.parent}" in out
    assert out.splitlines()[-1] == f"next: apportion world simulate negotiation CORPUS --agents learned@{agent},fair"
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "world",
                "simulate",
                "negotiation",
                str(tmp_path / "corpus"),
                "--agents",
                f"learned@{agent},fair",
                "--games",
                "2",
            ]
        )
    assert ended.value.code == 0
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["train", "negotiator", str(config), "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["agents"]) == 2 and {row["epoch"] for row in shown["figures"]} == {0, 1}


def test_a_missing_file_is_exit_code_2(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["train", "negotiator", str(tmp_path / "none.toml")])
    assert ended.value.code == 2 and "none.toml" in capsys.readouterr().err
