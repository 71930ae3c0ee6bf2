"""What a judge said of replies, recorded: the page has the figures that the file gives."""

import json
from pathlib import Path

from benchmarks.alignment import judged

PAGE = Path(__file__).resolve().parents[2] / "docs" / "evidence" / "alignment.md"


def test_the_page_tells_what_the_judge_said(capsys):
    judged()
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [sum(row["won_tied_lost"]) for row in rows] == [100] * 9
    page = PAGE.read_text(encoding="utf-8")
    for row in rows:
        low, high = (f"{value:.3f}".lstrip("0") for value in row["interval"])
        rate = f"{row['figure']:.3f}".lstrip("0")
        assert f"| {', '.join(map(str, row['won_tied_lost']))}; {rate} [{low}, {high}] |" in page
