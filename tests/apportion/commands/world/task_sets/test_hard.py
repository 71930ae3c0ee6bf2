import json
from functools import partial
from pathlib import Path

import pytest

from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.simulation import SimulationChoice
from tests.apportion.called import called

run = partial(called, "world", "tasks", "sotopia", "hard")


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("hard") / "play"
    write_corpus(SimulationChoice(agents=("conceding", "random"), scenarios=("used_bicycle",), pairs=3), out)
    return out


def test_the_choice_is_printed_and_written(played, tmp_path, capsys):
    out = tmp_path / "hard.toml"
    assert run(played, "--model", "random", "--dimension", "goal", "-n", "2", "--out", out) == 0
    told = capsys.readouterr().out
    assert "hard for random" in told and f"next: apportion world simulate sotopia CORPUS --tasks {out}" in told
    assert 'set = "hard-for-random"' in out.read_text() and out.read_text().count("[[task]]") == 2
    assert run(played, "--model", "random", "--dimension", "GOAL", "-n", "2", "--out", out) == 2
    assert "--force" in capsys.readouterr().err
    assert run(played, "--model", "random", "--dimension", "GOAL", "-n", "2", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--model", "randem", "--dimension", "GOAL"), "did you mean 'random'?"),
        (("--model", "random"), "20 tasks are asked for, and judge 'rules' rated 'random' in Overall in 0"),
        (("--model", "random", "--judge", "rule"), "did you mean 'rules'?"),
        (("--model", "random", "--dimension", "FUN"), "--dimension"),
        (("--model", "random", "--out", "hard.json"), "--out"),
        ((), "--model"),
    ],
)
def test_bad_input_ends_with_code_2(played, capsys, arguments, message):
    assert run(played, *arguments) == 2
    assert message in capsys.readouterr().err
