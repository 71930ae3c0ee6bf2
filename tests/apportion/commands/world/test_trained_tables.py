import json
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.apportion.called import called
from tests.environments.sotopia.reports.made import Made, every


def rated(folder: Path) -> Path:
    made = Made()
    for agents in (("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")) * 3:
        made.episode(agents, ({"paper@m": every(0.5)}, {"paper@m": every(0.75)}))
    return made.write(folder / "c")


run = partial(called, "world", "tables", "savoir")


def test_it_prints_writes_and_tells_what_is_wrong(tmp_path, capsys):
    corpus = str(rated(tmp_path))
    assert run(corpus, "--size", "a=2000", "--out", str(tmp_path / "out")) == 0
    told = capsys.readouterr().out
    assert "Table 1 of SAVOIR" in told and "With a, all: GOAL" in told and "wrote 12 files" in told
    assert "Figure 8 of SAVOIR" in (tmp_path / "out" / "report.md").read_text()
    assert run(corpus, "--partner", "b", "--json") == 0
    columns = json.loads(capsys.readouterr().out)["tables"][0]["columns"]
    assert "With b, all: AVG" in columns
    for wrong, hint in (
        (["--size", "a"], "--size 'a': give an agent and a whole number"),
        (["--partner", "c"], "nobody plays who is called 'c'"),
    ):
        assert run(corpus, *wrong) == 2
        assert hint in capsys.readouterr().err


def test_people_are_asked_blind_and_their_answers_are_figure_9(tmp_path, capsys):
    corpus, table = str(rated(tmp_path)), tmp_path / "rewards.parquet"
    rows = [
        {"session_id": f"e{number}", "target": "Ann", "turn": 0, "method": method, "reward": float(number)}
        for number in range(3)
        for method in ("savoir", "uniform")
    ]
    pq.write_table(pa.Table.from_pylist(rows), table)
    ask = f"world tables savoir-people {corpus} --rewards {table} --method savoir --method uniform".split()

    def told(*more: str, code: int = 0) -> str:
        assert called(*ask, *more) == code
        out = capsys.readouterr()
        return out.err if code else out.out

    assert "to be filled in" in told("--export", str(tmp_path / "form"))
    form = (tmp_path / "form" / "credit.csv").read_text(encoding="utf-8-sig")
    assert form.count("strategicness") == 3 and (tmp_path / "form" / "credit.txt").read_text().count("Ann:") >= 3
    for name, answer in (("ann", "4"), ("bob", "2")):
        lines = [line + answer if "strategicness" in line else line for line in form.splitlines()]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    filled = [f"--answers={name}={tmp_path / name}.csv" for name in ("ann", "bob")]
    assert "3.00" in told(*filled) and "Figure 9 of SAVOIR, right" in told(*filled)
    assert "nobody answered it (Figure 9 of SAVOIR, right): apportion world tables savoir-people" in told(*filled)
    halves = [f"{line}tie" if ",credit fairness," in line else line for line in form.splitlines()]
    (tmp_path / "half.csv").write_text("\n".join(halves) + "\n")
    (right,) = json.loads(told(f"--answers=ann={tmp_path / 'half.csv'}", "--json"))["tables"][1:]
    assert right["rows"][0][3]["value"] == 1 and right["rows"][1][1]["because"] == "nobody answered it"
    assert json.loads(told(*filled, "--json"))["tables"][0]["rows"][0][1]["value"] == 3.0
    assert "give --export FOLDER" in told(code=2) and "--answers ann=ann.csv" in told("--answers", "ann", code=2)
    assert "no rewards by 'llm'; there are savoir, uniform" in told("--method", "llm", "--export", "x", code=2)
    table.write_text("no table")
    assert "cannot be read as a table of rewards" in told("--export", "x", code=2)
