from __future__ import annotations

import fcntl
import shutil

import pytest

from apportion.foundation.errors import InputError
from apportion.rlhf.compare.metadata import LOCK, PartialTable


def test_what_was_finished_is_found_again_where_it_was_made_with_the_same(tmp_path):
    out = tmp_path / "r.csv"
    with PartialTable(out, {"seed": 1}) as partial:
        partial.write(0, 4, ["a", "b"])
        assert partial.read(0, 0) is None
    with PartialTable(out, {"seed": 1}) as partial:
        assert partial.read(0, 4) == ["a", "b"]
    with PartialTable(out, {"seed": 2}) as partial:
        assert partial.read(0, 4) is None
        partial.remove()
    assert not list(tmp_path.iterdir())


def test_a_table_that_another_process_writes(tmp_path):
    out = tmp_path / "r.csv"
    with PartialTable(out, {}), pytest.raises(InputError, match=r"r\.csv is being written by another process"):
        PartialTable(out, {})
    PartialTable(out, {})


def test_a_folder_that_is_taken_away_while_its_lock_is_asked_for_is_made_anew(tmp_path, monkeypatch):
    out = tmp_path / "r.csv"
    real, calls = fcntl.flock, []

    def late(file, kind):
        calls.append(kind)
        if len(calls) == 1:
            # The process before has just finished.
            shutil.rmtree(tmp_path / ".r.csv.partial")
        real(file, kind)

    monkeypatch.setattr(fcntl, "flock", late)
    with PartialTable(out, {}) as partial:
        partial.write(0, 0, ["a"])
        assert partial.read(0, 0) == ["a"] and (partial.folder / LOCK).exists()
    assert len(calls) == 2
