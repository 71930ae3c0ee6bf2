"""`apportion import amazonhistoryprice`: a file of bargains, not a corpus."""

import json
from pathlib import Path

import pytest

from apportion.cli import main
from tests.environments.negotiation.bargaining.test_scenarios import GOOD, OTHERS, folder


def run(*arguments: str) -> int:
    try:
        main(list(arguments))
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_products_become_bargains_that_are_played(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    source, out = folder(tmp_path, GOOD, *OTHERS), tmp_path / "bargains.jsonl"
    assert run("import", "amazonhistoryprice", str(source), str(out)) == 0
    told = capsys.readouterr().out
    assert "1 bargains of 4 products" in told and "Apache-2.0" in told and "left out: 1 (" in told
    corpus = str(tmp_path / "play")
    assert run("world", "simulate", "bargaining", corpus, "--scenarios", str(out), "--games", "1") == 0
    assert "1 sessions" in capsys.readouterr().out
    assert run("import", "amazonhistoryprice", str(source), str(out)) == 2
    assert "is there; name another file, or give --overwrite" in capsys.readouterr().err
    again = ("import", "amazonhistoryprice", str(source), str(out), "--overwrite", "--json", "-o", "budget=1")
    assert run(*again) == 0
    assert json.loads(capsys.readouterr().out)["bargains"] == 3  # A higher budget lies above more of the costs.


def test_damaged_products_are_named_with_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    source = folder(tmp_path, GOOD, {"title": "x"})
    assert run("import", "amazonhistoryprice", str(source), str(tmp_path / "o")) == 1
    assert "damaged: books.json 2: KeyError" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "said"), [("x=1", "no option 'x'; there is budget"), ("budget=much", "a number")])
def test_options_that_it_has_not(tmp_path: Path, capsys: pytest.CaptureFixture, option: str, said: str) -> None:
    assert run("import", "amazonhistoryprice", str(folder(tmp_path, GOOD)), str(tmp_path / "o"), "-o", option) == 2
    assert said in capsys.readouterr().err


def test_its_help_tells_the_option(capsys: pytest.CaptureFixture) -> None:
    assert run("import", "amazonhistoryprice", "--help") == 0
    assert "-o budget=" in capsys.readouterr().out
