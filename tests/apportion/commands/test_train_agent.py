import json
from pathlib import Path

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


def test_it_names_what_it_wrote_and_the_next_command_which_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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


@pytest.mark.parametrize(
    ("changed", "missing", "waits"),
    [
        ({"method": "sl"}, "gradient.loss_and_gradient", True),
        ({"method": "sl"}, "playing.play_games", False),
        ({}, "gradient.loss_and_gradient", True),
        ({}, "playing.play_games", True),
        ({}, "nothing", False),
        ({"games": "8\ngames_per_update = 4"}, "playing.play_games", False),
        ({"scripted": "40\nscratch = true"}, "gradient.loss_and_gradient", False),
    ],
)
def test_who_has_to_wait_for_the_compiler_is_told(
    changed: dict[str, str],
    missing: str,
    waits: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = tmp_path / "agent.toml"
    text = CONFIG
    for name, value in changed.items():
        now = {"method": '"rl"', "games": "8", "scripted": "40"}[name]
        text = text.replace(f"{name} = {now}\n", f"{name} = {value if name != 'method' else repr(value)}\n")
    config.write_text(text)
    monkeypatch.setattr("apportion.rlhf.negotiation.config.to_be_compiled", lambda name: name == missing)
    with pytest.raises(SystemExit):
        main(["train", "negotiator", str(config)])
    assert ("compiling the loops of training" in capsys.readouterr().err) == waits


def test_a_missing_file_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["train", "negotiator", str(tmp_path / "none.toml")])
    assert ended.value.code == 2 and "none.toml" in capsys.readouterr().err
