"""The claims about speed, what is kept of them, and the page that is made of it."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import __main__ as bench
from benchmarks.__main__ import BEGIN, CLAIMS, END, PAGE, Claim, main, records, table

ROOT = Path(__file__).resolve().parents[2]
FASTER = Claim(
    "faster", "startup", [["a", "{figure:.1f} s of {runs}", "figure < 2"], ["b", "{x:.0f} x", "x >= 2", "x <= 3"]]
)


def lines(a=1.0, b=2.0):
    told = ({"benchmark": "a", "figure": a, "runs": 5, "machine": "m"}, {"benchmark": "b", "figure": 0, "x": b})
    return ["a word\n", *(json.dumps(line) + "\n" for line in told)]


def test_the_page_shows_the_table_of_what_is_kept():
    assert f"{BEGIN}\n{table(records())}\n{END}" in PAGE.read_text(encoding="utf-8")


def test_every_claim_has_a_script_and_a_row_and_every_record_a_claim():
    scripts = {name: ROOT / "benchmarks" / f"{claim.command.split()[0]}.py" for name, claim in CLAIMS.items()}
    assert not [name for name, script in scripts.items() if not script.is_file()]
    assert len(CLAIMS) <= 20 and {record["claim"] for record in records()} == set(CLAIMS)


def test_what_is_kept_as_held_passes_the_bars_of_today():
    measured = [record for record in records() if "source" not in record]
    assert measured
    for record in measured:
        claim = CLAIMS[record["claim"]]
        assert record["held"] == all(claim.held(figure, record["figures"][figure[0]]) for figure in claim.figures)
        assert record["held"] == ("**not held**" not in claim.cell(record))


@pytest.mark.parametrize(
    ("printed", "cell"),
    [
        (lines(), "load 7: 1.0 s of 5; 2 x"),
        (lines(a=2.0), "load 7: 2.0 s of 5 (**not held**); 2 x"),
        (lines(b=4.0), "load 7: 1.0 s of 5; 4 x (**not held**)"),
    ],
)
def test_a_record_says_what_was_printed_and_whether_it_is_held(printed, cell):
    record = json.loads(json.dumps(FASTER.record("faster", printed, (7.2, 1.0, 1.0))))
    assert FASTER.cell(record) == f"{record['date']}, {cell}"
    assert record["held"] == ("**not held**" not in cell)
    assert record["figures"]["a"].keys() == {"figure", "runs"} and record["machine"]


def test_a_line_that_is_missing_ends_it_and_keeps_nothing():
    with pytest.raises(SystemExit, match="did not print 'b'; nothing is kept"):
        FASTER.record("faster", lines()[:2], (1.0, 1.0, 1.0))


def test_a_script_that_fails_ends_it():
    with pytest.raises(SystemExit, match="no_such_script 3 ended with 1; nothing is kept"):
        bench.output_of("no_such_script 3")


def test_below_a_row_that_is_not_held_stands_the_newest_that_was(monkeypatch):
    monkeypatch.setattr(bench, "CLAIMS", {"faster": FASTER, "other": FASTER})
    old = {"claim": "faster", "date": "2026-01-01", "source": "a page", "words": "1 s", "held": True}
    older = old | {"words": "0 s"}
    new = FASTER.record("faster", lines(a=3.0), (1.0, 1.0, 1.0))
    *_, row, other = table([older, old, new]).splitlines()
    assert row.endswith(f"| {FASTER.cell(new)}<br>2026-01-01: 1 s |") and "**not held**" in row
    assert other.endswith("| not measured |")
    assert table([new, old]).splitlines()[2].endswith("` | 2026-01-01: 1 s |")


def test_a_name_that_is_none_ends_with_2_and_the_nearest(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["startpu"])
    assert ended.value.code == 2 and "did you mean 'startup'?" in capsys.readouterr().err


def test_without_a_name_the_claims_are_listed(capsys):
    main([])
    said = capsys.readouterr().out
    assert all(name in said and claim.claim in said for name, claim in CLAIMS.items())


def test_a_measured_claim_is_kept_and_on_the_page(monkeypatch, tmp_path):
    page, kept = tmp_path / "page.md", tmp_path / "results.jsonl"
    page.write_text(f"before\n{BEGIN}{END}after\n", encoding="utf-8")
    monkeypatch.setattr(bench, "CLAIMS", {"faster": FASTER})
    monkeypatch.setattr(bench, "PAGE", page)
    monkeypatch.setattr(bench, "RESULTS", kept)
    monkeypatch.setattr(bench, "output_of", lambda command: lines())
    for _ in range(2):
        main(["faster"])
    assert len(records()) == 2
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("after\n") and text.count("1.0 s of 5; 2 x") == 1


@pytest.mark.parametrize("page", sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "benchmarks" / "README.md"]), ids=str)
def test_a_script_that_a_page_runs_as_a_module_is_there(page):
    named = re.findall(r"python -m benchmarks\.([a-z_]+)", page.read_text(encoding="utf-8"))
    assert not [name for name in named if not (ROOT / "benchmarks" / f"{name}.py").is_file()]
