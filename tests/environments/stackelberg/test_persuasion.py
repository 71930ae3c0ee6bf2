"""Table 6 on made-up similarities."""

import json
from pathlib import Path

import pytest

from apportion.environments.report_tables.table import Value
from apportion.environments.stackelberg.curves import read_nearness, table_6
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling


def written(tmp_path: Path, rows) -> Path:
    path = tmp_path / "made_up.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def rows():
    """Each epoch 0.1 nearer than the one before, in every instance."""
    for epoch in range(3):
        for session in range(10):
            for turn in (1, 3):
                similarity = 0.3 + 0.01 * session + 0.1 * epoch
                yield {"epoch": epoch, "session": f"s{session}", "turn": turn, "similarity": similarity, "more": 1}


def test_epochs_are_compared_instance_by_instance(tmp_path: Path) -> None:
    table = table_6(read_nearness(written(tmp_path, rows())), Sampling(resamples=200))
    assert [row[0] for row in table.rows] == [0, 1, 2]
    assert isinstance(table.rows[0][2], Missing)
    more = table.rows[2][2]
    assert isinstance(more, Value) and (more.value, more.low, more.high) == pytest.approx((0.2, 0.2, 0.2))
    cosine = table.rows[1][1]
    assert cosine.value == pytest.approx(0.445) and cosine.items == 20 and cosine.episodes == 10
    assert cosine.low < cosine.value < cosine.high and table.picture is not None
    assert table_6((), Sampling()).absent == "no file of similarities was given"


def test_without_the_start_nothing_is_more(tmp_path: Path) -> None:
    later = [row for row in rows() if row["epoch"]]
    table = table_6(read_nearness(written(tmp_path, later)), Sampling(resamples=100))
    assert "epoch 0 has none of these instances" in table.text()


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"epoch": 0}',
        '{"epoch": 0.5, "session": "s", "turn": 1, "similarity": 0.1}',
        '{"epoch": -1, "session": "s", "turn": 1, "similarity": 0.1}',
        '{"epoch": 0, "session": 1, "turn": 1, "similarity": 0.1}',
        '{"epoch": 0, "session": "s", "turn": 1, "similarity": NaN}',
        '{"epoch": 0, "session": "s", "turn": 1, "similarity": 1.5}',
    ],
)
def test_a_line_that_is_none_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match="line 1: no similarity of an instance"):
        read_nearness(path)


def test_a_file_without_any_or_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("\n")
    with pytest.raises(InputError, match="holds no similarity"):
        read_nearness(path)
    with pytest.raises(InputError, match="not to be read"):
        read_nearness(tmp_path)
