"""`apportion tables savoir` as a person has it."""

import json
from pathlib import Path

import pytest

from apportion.cli import main
from tests.environments.sotopia.reports.made import Made, every


def rated(folder: Path) -> Path:
    made = Made()
    for agents in (("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")) * 3:
        made.episode(agents, ({"paper@m": every(0.5)}, {"paper@m": every(0.75)}))
    return made.write(folder / "c")


def run(*arguments: str) -> int:
    try:
        main(["tables", "savoir", *arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_it_prints_writes_and_tells_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = str(rated(tmp_path))
    assert run(corpus, "--size", "a=2000", "--out", str(tmp_path / "out")) == 0
    told = capsys.readouterr().out
    assert "Table 1 of SAVOIR" in told and "With a, all: GOAL" in told and "wrote 12 files" in told
    assert "Figure 8 of SAVOIR" in (tmp_path / "out" / "report.md").read_text()
    assert run(corpus, "--partner", "b", "--json") == 0
    columns = json.loads(capsys.readouterr().out)["tables"][0]["columns"]
    assert "With b, all: AVG" in columns
    for wrong, hint in (
        (["--size", "a"], "--size policy@a=2000"),
        (["--partner", "c"], "nobody plays who is called 'c'"),
    ):
        assert run(corpus, *wrong) == 2
        assert hint in capsys.readouterr().err
