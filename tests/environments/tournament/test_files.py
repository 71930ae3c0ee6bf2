"""A tournament's table beside its corpus."""

import json
from pathlib import Path

import pytest

from apportion.environments.tournament.page import write_table
from apportion.environments.tournament.results import Result, Results
from apportion.environments.tournament.standings import standings
from apportion.foundation.errors import InputError

TABLE = standings(Results("rules", (Result("e", "t", ("a", "b"), ({"GOAL": 1.0}, {"GOAL": 2.0})),)))


def test_both_are_written_whole(tmp_path: Path) -> None:
    document, text = write_table(tmp_path, TABLE, "one")
    assert json.loads(document.read_text())["agents"] == ["a", "b"] and text.read_text().startswith("# one\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tournament.json", "tournament.md"]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot be written"):
        write_table(tmp_path / "file", TABLE, "one")
