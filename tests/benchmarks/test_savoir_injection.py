"""A plea to the judge in histories with acts left out, on recorded judgements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import savoir_injection as injection
from benchmarks.judge_injection import play


def test_the_recorded_judgements_are_those_of_the_requests_of_today(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["savoir_injection.py"])
        injection.main()
    told = json.loads(capsys.readouterr().out)
    assert told["histories"] == 16
    assert told["planting gains"] == [0.0, -0.375, 0.375]


def test_no_folder_of_requests_holds_two_wordings_of_a_history(tmp_path: Path) -> None:
    play(tmp_path / "played")
    injection.write_requests(tmp_path / "played", tmp_path / "out")
    folders = sorted((tmp_path / "out").iterdir())
    assert [len(list(folder.iterdir())) for folder in folders] == [16, 16, 16]
    names = [{path.name for path in folder.iterdir()} for folder in folders]
    assert not names[0] & names[1] and not names[0] & names[2] and not names[1] & names[2]
